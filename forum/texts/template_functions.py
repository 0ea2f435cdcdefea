from core.pages.templates import template_function
from forum.texts.slugs import post_path

template_function(post_path)
