from django.urls import path

from accounts.hosts.pages import domain_file

urlpatterns = [path(".well-known/rostrum-domain", domain_file, name="accounts-domain-file")]
