"""The rows of the search table (`tests/search_cases.toml`): invented names, the same in every run."""

from accounts.users.models import User
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from forum.posts.models import Post

# fmt: off
CLIENTS = [
    {"name": "Jan Kowalski", "first_name": "Jan", "last_name": "Kowalski", "email": "jan.kowalski@poczta.example", "phone": "+48 601 234 567",
     "city": "Gdańsk", "street": "Żabia", "post_code": "80-001", "external_ids": {"shop": "S-1043"}},
    {"name": "Anna Kowalska", "first_name": "Anna", "last_name": "Kowalska", "email": "anna.k@kwiaciarnia.example", "phone": "602-345-678",
     "city": "Kraków", "external_ids": {"shop": "S-1044"}},
    {"name": "Kowalczyk i Synowie sp.j.", "tax_no": "PL 712-345-67-89", "city": "Lublin", "email": "synowie@kowalczyk.example"},
    {"name": "Zakłady Mięsne Wędzonka Sp. z o.o.", "email": "biuro@wedzonka.example", "phone": "(22) 555 12 34", "tax_no": "525-123-45-67",
     "register_number": "0000345678", "city": "Warszawa", "note": "Prosi o faktury pro forma przed każdą dostawą."},
    {"name": "Piekarnia Pod Kłosem", "email": "zamowienia@podklosem.example", "www": "https://www.podklosem.example/sklep", "city": "Łódź",
     "mobile_phone": "+48 695 800 900"},
    {"name": "Stolarnia Dąbek", "city": "Bielsko-Biała", "phone": "33 812 44 55", "street": "Partyzantów", "street_no": "17b"},
    {"name": "Łucja Źdźbło", "email": "lucja@zdzblo.example", "phone": "0048 512 000 111"},
    {"name": "Przedsiębiorstwo Robót Drogowych Żwirek S.A.", "shortcut": "PRDZ", "tax_no": "PL8971234560", "city": "Wrocław"},
    {"name": "Hurtownia Papieru Arkusz", "email": "handel@arkusz.example", "fax": "61 850 10 20", "city": "Poznań"},
    {"name": "Gospodarstwo Ogrodnicze Świerkowa Polana", "city": "Grójec", "note": "Dostarcza jabłka i gruszki do sklepów."},
    {"name": "Księgarnia Pod Gołębiem", "city": "Toruń", "email": "ksiazki@golab.example", "register_number": "870123456"},
    {"name": "Kancelaria Prawna Brzęczkowski", "email": "sekretariat@brzeczkowski.example", "city": "Katowice"},
    {"name": "Apteka Rumianek", "city": "Radom", "phone": "48 360 70 80", "note": "Czynna całą dobę, także w niedziele."},
    {"name": "Warsztat Samochodowy Tłok", "city": "Rzeszów", "mobile_phone": "790 111 222"},
    {"name": "Szkoła Językowa Papuga", "city": "Szczecin", "www": "papuga-szkola.example"},
    {"name": "Straße & Söhne GmbH", "city": "München", "email": "info@strasse-soehne.example", "phone": "+49 89 123456-78"},
    {"name": "Ærø Shipping ApS", "city": "Marstal", "tax_no": "DK29403473"},
    {"name": "Café Crème Brûlée", "city": "Lyon", "phone": "+33 4 72 00 11 22"},
    {"name": "Northwind Outfitters Ltd", "email": "office@northwind.example", "city": "Leeds", "tax_no": "GB 980 7806 84", "shortcut": "NWO"},
    {"name": "Smythe & Wesley Consulting", "email": "hello@smythe-wesley.example", "city": "London"},
    {"name": "O'Connor Brothers", "city": "Dublin", "phone": "+353 1 555 0123"},
    {"name": "ACME-Tech 2000", "email": "acme2000@tech.example"},
    {"name": "3M-Bud Izolacje", "city": "Kielce"},
    {"name": "B&B Noclegi Bursztyn", "city": "Sopot", "street": "Bohaterów Monte Cassino"},
    {"name": "Żółw i Przyjaciele", "email": "kontakt@zolw.example"},
    {"name": "Nowak"},
    {"name": "Bożena Nowak", "first_name": "Bożena", "last_name": "Nowak", "city": "Opole"},
    {"name": "Nowakowski Meble", "city": "Kępno"},
    {"name": "Małgorzata Wiśniewska", "first_name": "Małgorzata", "last_name": "Wiśniewska", "email": "malgosia.w@skrzynka.example",
     "phone": "505 606 707"},
    {"name": "Grzegorz Szczepański", "first_name": "Grzegorz", "last_name": "Szczepański", "email": "g.szczepanski@poczta.example"},
    {"name": "Elektro-Hurt Iskra", "city": "Częstochowa", "tax_no": "573-000-11-22"},
    {"name": "Ковальский Трейд", "city": "Вильнюс"},
    {"name": "Thompson Garden Supplies", "email": "orders@thompson-garden.example", "description": "Sells lawnmowers and greenhouses."},
    {"name": "Bluebird Bakery", "city": "Bristol", "note": "Invoices are sent monthly; delivery on Fridays."},
    {"name": "Harbour View Hotel", "city": "Plymouth", "phone": "+44 1752 555 999"},
    {"name": "Quick Print Services", "city": "Manchester", "external_ids": {"erp": "99/7/2009"}},
    {"name": "Silver Lining Insurance", "city": "Edinburgh", "post_code": "EH1 1YZ"},
    {"name": "Wodociągi Miejskie w Ełku", "city": "Ełk", "email": "bok@wodociagi.example"},
    {"name": "Chłodnie Bałtyk", "city": "Gdynia", "tax_no": "586-222-33-44", "note": "Reklamacje zgłasza kierownik magazynu."},
    {"name": "Studio Fotograficzne Migawka", "city": "Olsztyn", "email": "foto@migawka.example"},
]
CONTACTS = [
    {"name": "Tadeusz Gąsiorowski", "email": "tadeusz@wedzonka.example", "position": "kierownik zakupów", "phone": "22 555 12 99"},
    {"name": "Halina Jędrzejczak", "email": "halina.jedrzejczak@arkusz.example", "position": "główna księgowa", "mobile_phone": "+48 609 111 333"},
    {"name": "Zbigniew Krzyżanowski", "email": "zbyszek@tlok.example", "position": "mechanik"},
    {"name": "Aleksandra Ptaszyńska", "email": "ola@papuga.example", "position": "dyrektor", "note": "Dzwonić po piętnastej."},
    {"name": "Eleanor Whitfield", "email": "eleanor@northwind.example", "position": "purchasing manager", "phone": "+44 113 555 0101"},
    {"name": "Patrick O'Brady", "email": "patrick@brothers.example", "position": "warehouse supervisor"},
    {"name": "Jürgen Müllenbach", "email": "jm@strasse-soehne.example", "position": "Einkaufsleiter"},
    {"name": "Siobhán Ní Riada", "email": "siobhan@example.org", "external_ids": {"crm": "C-7781"}},
    {"name": "Wacław Śliwiński", "email": "w.sliwinski@chlodnie.example", "description": "Odpowiada za reklamacje i zwroty."},
    {"name": "Dominika Żelazna", "email": "dominika@iskra.example", "phone": "34 300 40 50"},
    {"name": "Bronisław Cieślik", "email": "bronek@zwirek.example", "position": "operator koparki"},
    {"name": "Margaret Ashdown", "email": "margaret.ashdown@harbour.example", "position": "events coordinator"},
]
DEALS = [
    {"name": "Dostawa wędlin na święta", "description": "Szynka, kiełbasa i boczek w opakowaniach prezentowych."},
    {"name": "Wymiana okien w szkole", "description": "Trzydzieści okien, montaż w wakacje."},
    {"name": "Remont dachu magazynu", "external_ids": {"erp": "ZAM/2024/117"}},
    {"name": "Umowa serwisowa na drukarki", "description": "Przeglądy co kwartał, tonery w cenie."},
    {"name": "Sprzedaż koparki gąsienicowej"},
    {"name": "Abonament roczny: księgowość", "description": "Płatność w ratach miesięcznych."},
    {"name": "Annual licence renewal", "description": "Includes priority support and training."},
    {"name": "Office chairs for Leeds", "description": "Forty ergonomic chairs, delivered before Christmas."},
    {"name": "Greenhouse heating system"},
    {"name": "Website redesign", "external_ids": {"erp": "ORD-5521"}},
    {"name": "Catering for the spring conference"},
    {"name": "Fotowoltaika 50 kW", "description": "Panele na dachu hali, falownik w rozdzielni."},
]
POSTS = [
    {"title": "Eksport faktur do arkusza", "content": "Księgowa przepisuje dane ręcznie, a plik CSV oszczędziłby godziny."},
    {"title": "Ciemny motyw aplikacji", "content": "Wieczorem jasne tło męczy oczy."},
    {"title": "Powiadomienia o zaległych płatnościach", "content": "Klienci zapominają o terminach."},
    {"title": "Import kontaktów z telefonu", "content": "Książka adresowa powinna się synchronizować."},
    {"title": "Kalendarz spotkań zespołu", "content": "Widok tygodnia i miesiąca z przypomnieniami."},
    {"title": "Skróty klawiszowe", "content": "Przechodzenie między rekordami bez myszy."},
    {"title": "Obsługa wielu walut", "content": "Kursy z tabeli banku centralnego."},
    {"title": "Wyszukiwanie po numerze NIP", "content": "Również z kreskami i bez."},
    {"title": "Dark mode for the mobile app", "content": "White screens are glaring at night."},
    {"title": "Export reports to a spreadsheet", "content": "Managers copy figures by hand every Monday."},
    {"title": "Two-factor authentication", "content": "Security audits require it.", "response": "Planned for the autumn release."},
    {"title": "Barcode scanner in the warehouse", "content": "Typing product numbers is slow."},
    {"title": "Keyboard shortcuts for the inbox", "content": "Approve and reject without a mouse."},
    {"title": "Attach photographs to a complaint", "content": "Customers send pictures of damaged parcels."},
    {"title": "Translate the interface into Czech", "content": "Our Prague office asks for it."},
    {"title": "Recurring invoices", "content": "Subscriptions are billed each month."},
    {"title": "Drag and drop on the deal board", "content": "Moving cards takes too many clicks."},
    {"title": "Merge duplicate customers", "content": "The same company was entered three times."},
]

# Words of further rows, which most queries should not find.
FIRST_NAMES = [
    "Adam", "Beata", "Cezary", "Dorota", "Emil", "Franciszka", "Gustaw", "Hubert", "Iwona", "Julian", "Klara", "Leon", "Monika", "Norbert",
    "Oskar", "Paulina", "Robert", "Sylwia", "Teresa", "Urszula", "Oliver", "Sophie", "Harry", "Emily",
]
SURNAMES = [
    "Adamczewska", "Borowiecki", "Czarnecka", "Domagała", "Fijałkowski", "Głowacki", "Hajduk", "Iwaniuk", "Jarosz", "Kubiak", "Lisowska",
    "Maciejewski", "Niemczyk", "Olejnik", "Pietrzak", "Rogalska", "Sobczak", "Tomczyk", "Urbaniak", "Walczak", "Zawadzka", "Hughes",
    "Bennett", "Clarke", "Foster",
]
CITIES = ["Zamość", "Kalisz", "Legnica", "Płock", "Tarnów", "Chełm", "Nysa", "Oxford", "Cardiff"]
THINGS = ["Przegląd instalacji", "Zestaw narzędzi", "Abonament", "Szkolenie", "Maintenance", "Software", "Printer", "Licencja", "Transport"]
# fmt: on
FURTHER_CLIENTS, FURTHER_CONTACTS, FURTHER_DEALS, FURTHER_POSTS = 120, 40, 40, 30


def person(n: int) -> str:
    return f"{FIRST_NAMES[n * 7 % len(FIRST_NAMES)]} {SURNAMES[n * 3 % len(SURNAMES)]}"


def further_client(n: int) -> dict:
    city = CITIES[n % len(CITIES)]
    phone = f"+48 {710 + n % 50} {100 + n * 37 % 900} {100 + n * 91 % 900}"
    return {
        "name": f"{person(n)} {city} {n}",
        "email": f"mail{n}@further.example",
        "phone": phone,
        "city": city,
        "tax_no": str(9_400_000_000 + n * 1_234_567),
    }


def further_contact(n: int) -> dict:
    return {"name": f"{person(n + 5)} {n}", "email": f"person{n}@further.example", "position": "assistant"}


def further_deal(n: int) -> dict:
    return {"name": f"{THINGS[n % len(THINGS)]} {n}: {person(n)}"}


def further_post(n: int) -> dict:
    return {
        "title": f"{THINGS[n % len(THINGS)]}: {CITIES[n * 5 % len(CITIES)]} {n}",
        "content": f"Asked by {person(n)}.",
    }


def make_clients(by: User) -> None:
    _make(Client, by, [*CLIENTS, *map(further_client, range(FURTHER_CLIENTS))])


def make_contacts(by: User) -> None:
    _make(Contact, by, [*CONTACTS, *map(further_contact, range(FURTHER_CONTACTS))])


def make_deals(by: User) -> None:
    _make(Deal, by, [*DEALS, *map(further_deal, range(FURTHER_DEALS))], currency="PLN")


def make_posts(by: User) -> None:
    account = by.account
    forum = account.forums.get(is_default=True)
    category = account.categories.of_forum(forum.id).first()
    values = [*POSTS, *map(further_post, range(FURTHER_POSTS))]
    Post.objects.bulk_create(
        Post(
            account=account,
            forum_id=forum.id,
            category_id=category.id,
            user_id=by.id,
            status_id=account.default_status("post").id,
            **fields,
        )
        for fields in values
    )


def _make(model, by: User, values: list[dict], **common) -> None:
    """Insert the rows in their order. Triggers store their words."""
    common |= {"account": by.account, "creator_id": by.id, "updater_id": by.id}
    model.objects.bulk_create(model(**common, **fields) for fields in values)
