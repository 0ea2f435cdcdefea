"""The models of the CRM."""

from crm.clients import Client as Client
from crm.clients import ClientExternalId as ClientExternalId
from crm.clients import ClientLastChange as ClientLastChange
from crm.clients import ClientQuerySet as ClientQuerySet
from crm.clients import LinkedToClient as LinkedToClient
from crm.clients import email_key as email_key
from crm.clients import lock_emails as lock_emails
from crm.contacts import Contact as Contact
from crm.contacts import ContactExternalId as ContactExternalId
from crm.contacts import ContactLastChange as ContactLastChange
from crm.contacts import ContactList as ContactList
from crm.contacts import ContactListCount as ContactListCount
from crm.contacts import ContactListMembership as ContactListMembership
from crm.contacts import ContactListQuerySet as ContactListQuerySet
from crm.contacts import ContactQuerySet as ContactQuerySet
from crm.deals import Deal as Deal
from crm.deals import DealExternalId as DealExternalId
from crm.deals import DealLastChange as DealLastChange
from crm.field_definitions import FieldDefinition as FieldDefinition
from crm.notes import Note as Note
from crm.stages import DealCount as DealCount
from crm.stages import DealStage as DealStage
from crm.user_links import UserLink as UserLink
