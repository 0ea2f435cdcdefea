from accounts.roles.models import block_ended
from forum.blocking.actions import restore_texts

block_ended.connect(restore_texts)
