from accounts import errors
from accounts.api.urls import urlpatterns as accounts_json
from accounts.openapi.urls import urlpatterns as interface
from crm.api.urls import urlpatterns as crm_json
from forum.api.urls import urlpatterns as forum_json
from forum.xml.urls import lists as forum_lists
from forum.xml.urls import urlpatterns as forum_xml

# The lists of categories come last: their names take what nothing else does.
urlpatterns = [*forum_xml, *accounts_json, *crm_json, *forum_json, *interface, *forum_lists]

handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = errors.not_found
handler500 = errors.server_error
