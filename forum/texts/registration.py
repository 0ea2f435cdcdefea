from accounts.mentions.parsing import register_reader
from forum.texts.markdown import text_with_mentions

register_reader(text_with_mentions)
