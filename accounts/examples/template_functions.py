from accounts.examples.operations import javascript_literal, php_literal, python_literal, ruby_literal, shell_literal
from core.pages.templates import template_filter

for literal in (javascript_literal, php_literal, python_literal, ruby_literal, shell_literal):
    template_filter(literal)
