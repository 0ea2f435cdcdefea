from django.urls import path

from accounts.hosts.domains import domain_file

urlpatterns = [path(".well-known/rostrum-domain", domain_file, name="accounts-domain-file")]
