-- Sequences

CREATE SEQUENCE public.crm_dealcount_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE SEQUENCE public.crm_dealstage_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- Functions

CREATE FUNCTION public.crm_dealcount_insert_deltas() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            BEGIN
                IF TG_OP = 'UPDATE' AND (OLD.currency, OLD.price, OLD.responsible_id, OLD.status_id, OLD.trashed_at) IS NOT DISTINCT FROM (NEW.currency, NEW.price, NEW.responsible_id, NEW.status_id, NEW.trashed_at) THEN
                    RETURN NULL;
                END IF;
                IF OLD.id IS NOT NULL AND OLD.trashed_at IS NULL THEN 
            INSERT INTO crm_dealcount (account_id, status_id, currency, responsible_id, deals, price, number)
            SELECT *, nextval('crm_dealcount_numbers') FROM (SELECT OLD.account_id, value.*, -1, -1 * coalesce(OLD.price, 0) FROM (SELECT coalesce(OLD.status_id, 0), OLD.currency, coalesce(OLD.responsible_id, 0)) AS value) AS rows
        ; END IF; IF NEW.id IS NOT NULL AND NEW.trashed_at IS NULL THEN 
            INSERT INTO crm_dealcount (account_id, status_id, currency, responsible_id, deals, price, number)
            SELECT *, nextval('crm_dealcount_numbers') FROM (SELECT NEW.account_id, value.*, 1, 1 * coalesce(NEW.price, 0) FROM (SELECT coalesce(NEW.status_id, 0), NEW.currency, coalesce(NEW.responsible_id, 0)) AS value) AS rows
        ; END IF;
                RETURN NULL;
            END $$;

-- Storage and statistics

ALTER TABLE public.crm_client SET (fillfactor='90', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.crm_client ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.crm_clientexternalid ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.crm_clientlastchange SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.crm_clientlastchange ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE public.crm_contact SET (fillfactor='95', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE public.crm_contact ALTER COLUMN additional_fields SET DEFAULT '{}';
ALTER TABLE public.crm_contact ALTER COLUMN external_ids SET DEFAULT '{}';
ALTER TABLE ONLY public.crm_contact ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.crm_contactexternalid ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.crm_contactlastchange SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.crm_contactlastchange ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE ONLY public.crm_contactlist ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.crm_contactlistcount ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.crm_contactlistmembership ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE public.crm_deal SET (fillfactor='95', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE public.crm_deal ALTER COLUMN additional_fields SET DEFAULT '{}';
ALTER TABLE ONLY public.crm_deal ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.crm_dealcount SET (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
ALTER TABLE ONLY public.crm_dealcount ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.crm_dealexternalid ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.crm_deallastchange SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.crm_deallastchange ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.crm_dealstage ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE ONLY public.crm_fielddefinition ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE public.crm_note SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.crm_note ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.crm_userlink ALTER COLUMN account_id SET (n_distinct=2);

-- Foreign keys

ALTER TABLE ONLY public.crm_client ADD CONSTRAINT crm_client_consent_by_id_fk FOREIGN KEY (account_id, consent_by_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_client ADD CONSTRAINT crm_client_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE SET NULL (contact_id);
ALTER TABLE ONLY public.crm_client ADD CONSTRAINT crm_client_creator_id_fk FOREIGN KEY (account_id, creator_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_client ADD CONSTRAINT crm_client_do_not_contact_by_id_fk FOREIGN KEY (account_id, do_not_contact_by_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_client ADD CONSTRAINT crm_client_responsible_id_fk FOREIGN KEY (account_id, responsible_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_client ADD CONSTRAINT crm_client_status_id_fk FOREIGN KEY (account_id, status_id) REFERENCES public.accounts_status(account_id, id);
ALTER TABLE ONLY public.crm_client ADD CONSTRAINT crm_client_trashed_by_id_fk FOREIGN KEY (account_id, trashed_by_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_client ADD CONSTRAINT crm_client_trashed_contact_id_fk FOREIGN KEY (account_id, trashed_contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE SET NULL (trashed_contact_id);
ALTER TABLE ONLY public.crm_client ADD CONSTRAINT crm_client_updater_id_fk FOREIGN KEY (account_id, updater_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_clientexternalid ADD CONSTRAINT crm_clientexternalid_holder_id_fk FOREIGN KEY (account_id, holder_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_contact ADD CONSTRAINT crm_contact_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE SET NULL (client_id);
ALTER TABLE ONLY public.crm_contact ADD CONSTRAINT crm_contact_consent_by_id_fk FOREIGN KEY (account_id, consent_by_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_contact ADD CONSTRAINT crm_contact_creator_id_fk FOREIGN KEY (account_id, creator_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_contact ADD CONSTRAINT crm_contact_do_not_contact_by_id_fk FOREIGN KEY (account_id, do_not_contact_by_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_contact ADD CONSTRAINT crm_contact_responsible_id_fk FOREIGN KEY (account_id, responsible_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_contact ADD CONSTRAINT crm_contact_trashed_by_id_fk FOREIGN KEY (account_id, trashed_by_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_contact ADD CONSTRAINT crm_contact_trashed_client_id_fk FOREIGN KEY (account_id, trashed_client_id) REFERENCES public.crm_client(account_id, id) ON DELETE SET NULL (trashed_client_id);
ALTER TABLE ONLY public.crm_contact ADD CONSTRAINT crm_contact_updater_id_fk FOREIGN KEY (account_id, updater_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_contactexternalid ADD CONSTRAINT crm_contactexternalid_holder_id_fk FOREIGN KEY (account_id, holder_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_contactlist ADD CONSTRAINT crm_contactlist_creator_id_fk FOREIGN KEY (account_id, creator_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_contactlist ADD CONSTRAINT crm_contactlist_trashed_by_id_fk FOREIGN KEY (account_id, trashed_by_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_contactlist ADD CONSTRAINT crm_contactlist_updater_id_fk FOREIGN KEY (account_id, updater_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_contactlistcount ADD CONSTRAINT crm_contactlistcount_contact_list_id_fk FOREIGN KEY (account_id, contact_list_id) REFERENCES public.crm_contactlist(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_contactlistmembership ADD CONSTRAINT crm_contactlistmembership_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_contactlistmembership ADD CONSTRAINT crm_contactlistmembership_contact_list_id_fk FOREIGN KEY (account_id, contact_list_id) REFERENCES public.crm_contactlist(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_deal ADD CONSTRAINT crm_deal_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE SET NULL (client_id);
ALTER TABLE ONLY public.crm_deal ADD CONSTRAINT crm_deal_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE SET NULL (contact_id);
ALTER TABLE ONLY public.crm_deal ADD CONSTRAINT crm_deal_creator_id_fk FOREIGN KEY (account_id, creator_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_deal ADD CONSTRAINT crm_deal_responsible_id_fk FOREIGN KEY (account_id, responsible_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_deal ADD CONSTRAINT crm_deal_status_id_fk FOREIGN KEY (account_id, status_id) REFERENCES public.accounts_status(account_id, id);
ALTER TABLE ONLY public.crm_deal ADD CONSTRAINT crm_deal_trashed_by_id_fk FOREIGN KEY (account_id, trashed_by_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_deal ADD CONSTRAINT crm_deal_trashed_client_id_fk FOREIGN KEY (account_id, trashed_client_id) REFERENCES public.crm_client(account_id, id) ON DELETE SET NULL (trashed_client_id);
ALTER TABLE ONLY public.crm_deal ADD CONSTRAINT crm_deal_trashed_contact_id_fk FOREIGN KEY (account_id, trashed_contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE SET NULL (trashed_contact_id);
ALTER TABLE ONLY public.crm_deal ADD CONSTRAINT crm_deal_updater_id_fk FOREIGN KEY (account_id, updater_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_dealexternalid ADD CONSTRAINT crm_dealexternalid_holder_id_fk FOREIGN KEY (account_id, holder_id) REFERENCES public.crm_deal(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_dealstage ADD CONSTRAINT crm_dealstage_deal_id_fk FOREIGN KEY (account_id, deal_id) REFERENCES public.crm_deal(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_note ADD CONSTRAINT crm_note_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_note ADD CONSTRAINT crm_note_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_note ADD CONSTRAINT crm_note_creator_id_fk FOREIGN KEY (account_id, creator_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_note ADD CONSTRAINT crm_note_deal_id_fk FOREIGN KEY (account_id, deal_id) REFERENCES public.crm_deal(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_note ADD CONSTRAINT crm_note_trashed_by_id_fk FOREIGN KEY (account_id, trashed_by_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_note ADD CONSTRAINT crm_note_trashed_client_id_fk FOREIGN KEY (account_id, trashed_client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_note ADD CONSTRAINT crm_note_trashed_contact_id_fk FOREIGN KEY (account_id, trashed_contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_note ADD CONSTRAINT crm_note_trashed_deal_id_fk FOREIGN KEY (account_id, trashed_deal_id) REFERENCES public.crm_deal(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_note ADD CONSTRAINT crm_note_updater_id_fk FOREIGN KEY (account_id, updater_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_userlink ADD CONSTRAINT crm_userlink_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_userlink ADD CONSTRAINT crm_userlink_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_userlink ADD CONSTRAINT crm_userlink_creator_id_fk FOREIGN KEY (account_id, creator_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_userlink ADD CONSTRAINT crm_userlink_trashed_client_id_fk FOREIGN KEY (account_id, trashed_client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_userlink ADD CONSTRAINT crm_userlink_trashed_contact_id_fk FOREIGN KEY (account_id, trashed_contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.crm_userlink ADD CONSTRAINT crm_userlink_updater_id_fk FOREIGN KEY (account_id, updater_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.crm_userlink ADD CONSTRAINT crm_userlink_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);

-- Triggers

CREATE TRIGGER crm_dealcount_count AFTER INSERT OR UPDATE OR DELETE ON public.crm_deal FOR EACH ROW EXECUTE FUNCTION public.crm_dealcount_insert_deltas();
CREATE TRIGGER copy_live_row AFTER INSERT OR UPDATE OR DELETE ON public.crm_client FOR EACH ROW EXECUTE FUNCTION public.core_copy_live_row('crm_clientlastchange', 'updated_at');
CREATE TRIGGER copy_live_row AFTER INSERT OR UPDATE OR DELETE ON public.crm_contact FOR EACH ROW EXECUTE FUNCTION public.core_copy_live_row('crm_contactlastchange', 'updated_at');
CREATE TRIGGER copy_live_row AFTER INSERT OR UPDATE OR DELETE ON public.crm_deal FOR EACH ROW EXECUTE FUNCTION public.core_copy_live_row('crm_deallastchange', 'updated_at');
CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON public.crm_client DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('client', 'trashable');
CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON public.crm_contact DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('contact', 'trashable');
CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON public.crm_contactlist DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('contact_list', 'trashable');
CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON public.crm_deal DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('deal', 'trashable');
CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON public.crm_fielddefinition DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('field_definition');
CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON public.crm_note DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('note', 'trashable');
CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON public.crm_userlink DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('user_link');
CREATE TRIGGER take_id BEFORE INSERT ON public.crm_client FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.crm_contact FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.crm_contactlist FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.crm_deal FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.crm_fielddefinition FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.crm_note FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.crm_userlink FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

-- Search: what `makemigrations` writes for the declarations

ALTER TABLE crm_client ADD COLUMN IF NOT EXISTS search_name text COLLATE "C" DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_text text DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_words tsvector DEFAULT '' NOT NULL;
CREATE OR REPLACE FUNCTION crm_client_update_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, '') || ' ' || coalesce(NEW.email, '') || ' ' || coalesce(NEW.first_name, '') || ' ' || coalesce(NEW.last_name, '') || ' ' || coalesce(NEW.shortcut, '') || ' ' || coalesce(NEW.www, '') || ' ' || coalesce(NEW.city, '') || ' ' || coalesce(NEW.tax_no, '') || ' ' || coalesce(NEW.register_number, '') || ' ' || coalesce(NEW.phone, '') || ' ' || coalesce(NEW.mobile_phone, '') || ' ' || coalesce(NEW.fax, '')) || ' ' || search.compact(coalesce(NEW.tax_no, '') || E'\x01' || coalesce(NEW.register_number, '') || E'\x01' || coalesce(NEW.phone, '') || E'\x01' || coalesce(NEW.mobile_phone, '') || E'\x01' || coalesce(NEW.fax, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, '') || ' ' || coalesce(NEW.email, '') || ' ' || coalesce(NEW.first_name, '') || ' ' || coalesce(NEW.last_name, '') || ' ' || coalesce(NEW.shortcut, '') || ' ' || coalesce(NEW.www, '') || ' ' || coalesce(NEW.city, '') || ' ' || coalesce(NEW.tax_no, '') || ' ' || coalesce(NEW.register_number, '') || ' ' || coalesce(NEW.phone, '') || ' ' || coalesce(NEW.mobile_phone, '') || ' ' || coalesce(NEW.fax, '') || ' ' || coalesce(NEW.street, '') || ' ' || coalesce(NEW.street_no, '') || ' ' || coalesce(NEW.post_code, '') || ' ' || coalesce(jsonb_path_query_array(NEW.external_ids, '$.*')::text, ''), 35000), 'A') || setweight(search.words(NEW.account_id, coalesce(NEW.note, '') || ' ' || coalesce(NEW.description, ''), 65536), 'D');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, CASE WHEN NEW.trashed_at IS NULL THEN NEW.search_text END);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER crm_client_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, email, first_name, last_name, shortcut, www, city, tax_no, register_number, phone, mobile_phone, fax, street, street_no, post_code, external_ids, note, description, trashed_at, search_text ON crm_client FOR EACH ROW EXECUTE FUNCTION crm_client_update_search();
CREATE OR REPLACE TRIGGER add_words AFTER INSERT ON crm_client REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();
CREATE INDEX IF NOT EXISTS client_by_name ON crm_client (account_id, search_name, id) WHERE "trashed_at" IS NULL;
CREATE INDEX IF NOT EXISTS client_found ON crm_client USING gin (account_id, status_id, responsible_id, creator_id, updater_id, tags, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE "trashed_at" IS NULL;
ALTER INDEX client_found ALTER COLUMN 8 SET STATISTICS 0;

ALTER TABLE crm_contact ADD COLUMN IF NOT EXISTS search_name text COLLATE "C" DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_text text DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_words tsvector DEFAULT '' NOT NULL;
CREATE OR REPLACE FUNCTION crm_contact_update_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, '') || ' ' || coalesce(NEW.email, '') || ' ' || coalesce(NEW.first_name, '') || ' ' || coalesce(NEW.last_name, '') || ' ' || coalesce(NEW.position, '') || ' ' || coalesce(NEW.phone, '') || ' ' || coalesce(NEW.mobile_phone, '')) || ' ' || search.compact(coalesce(NEW.phone, '') || E'\x01' || coalesce(NEW.mobile_phone, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, '') || ' ' || coalesce(NEW.email, '') || ' ' || coalesce(NEW.first_name, '') || ' ' || coalesce(NEW.last_name, '') || ' ' || coalesce(NEW.position, '') || ' ' || coalesce(NEW.phone, '') || ' ' || coalesce(NEW.mobile_phone, '') || ' ' || coalesce(jsonb_path_query_array(NEW.external_ids, '$.*')::text, ''), 35000), 'A') || setweight(search.words(NEW.account_id, coalesce(NEW.note, '') || ' ' || coalesce(NEW.description, ''), 65536), 'D');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, CASE WHEN NEW.trashed_at IS NULL THEN NEW.search_text END);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER crm_contact_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, email, first_name, last_name, position, phone, mobile_phone, external_ids, note, description, trashed_at, search_text ON crm_contact FOR EACH ROW EXECUTE FUNCTION crm_contact_update_search();
CREATE OR REPLACE TRIGGER add_words AFTER INSERT ON crm_contact REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();
CREATE INDEX IF NOT EXISTS contact_by_name ON crm_contact (account_id, search_name, id) WHERE "trashed_at" IS NULL;
CREATE INDEX IF NOT EXISTS contact_found ON crm_contact USING gin (account_id, responsible_id, creator_id, updater_id, tags, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE "trashed_at" IS NULL;
ALTER INDEX contact_found ALTER COLUMN 7 SET STATISTICS 0;

ALTER TABLE crm_contactlist ADD COLUMN IF NOT EXISTS search_name text COLLATE "C" DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_text text DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_words tsvector DEFAULT '' NOT NULL;
CREATE OR REPLACE FUNCTION crm_contactlist_update_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, ''), 35000), 'A');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, CASE WHEN NEW.trashed_at IS NULL THEN NEW.search_text END);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER crm_contactlist_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, trashed_at, search_text ON crm_contactlist FOR EACH ROW EXECUTE FUNCTION crm_contactlist_update_search();
CREATE OR REPLACE TRIGGER add_words AFTER INSERT ON crm_contactlist REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();
CREATE INDEX IF NOT EXISTS contactlist_by_name ON crm_contactlist (account_id, search_name, id) WHERE "trashed_at" IS NULL;
CREATE INDEX IF NOT EXISTS contactlist_found ON crm_contactlist USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE "trashed_at" IS NULL;
ALTER INDEX contactlist_found ALTER COLUMN 3 SET STATISTICS 0;

ALTER TABLE crm_deal ADD COLUMN IF NOT EXISTS search_name text COLLATE "C" DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_text text DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_words tsvector DEFAULT '' NOT NULL;
CREATE OR REPLACE FUNCTION crm_deal_update_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, '') || ' ' || coalesce(jsonb_path_query_array(NEW.external_ids, '$.*')::text, ''), 35000), 'A') || setweight(search.words(NEW.account_id, coalesce(NEW.description, ''), 65536), 'D');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, CASE WHEN NEW.trashed_at IS NULL THEN NEW.search_text END);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER crm_deal_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, external_ids, description, trashed_at, search_text ON crm_deal FOR EACH ROW EXECUTE FUNCTION crm_deal_update_search();
CREATE OR REPLACE TRIGGER add_words AFTER INSERT ON crm_deal REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();
CREATE INDEX IF NOT EXISTS deal_by_name ON crm_deal (account_id, search_name, id) WHERE "trashed_at" IS NULL;
CREATE INDEX IF NOT EXISTS deal_found ON crm_deal USING gin (account_id, status_id, responsible_id, creator_id, updater_id, tags, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE "trashed_at" IS NULL;
ALTER INDEX deal_found ALTER COLUMN 8 SET STATISTICS 0;

ALTER TABLE crm_fielddefinition ADD COLUMN IF NOT EXISTS search_name text COLLATE "C" DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_text text DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_words tsvector DEFAULT '' NOT NULL;
CREATE OR REPLACE FUNCTION crm_fielddefinition_update_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, OLD.search_text, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.label);
    NEW.search_text := search.fold(coalesce(NEW.label, '') || ' ' || coalesce(NEW.key, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.label, '') || ' ' || coalesce(NEW.key, ''), 35000), 'A');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, OLD.search_text, NEW.search_text);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER crm_fielddefinition_update_search BEFORE INSERT OR DELETE OR UPDATE OF label, key, search_text ON crm_fielddefinition FOR EACH ROW EXECUTE FUNCTION crm_fielddefinition_update_search();
CREATE OR REPLACE TRIGGER add_words AFTER INSERT ON crm_fielddefinition REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();
CREATE INDEX IF NOT EXISTS fielddefinition_by_name ON crm_fielddefinition (account_id, search_name, id) WHERE true;
CREATE INDEX IF NOT EXISTS fielddefinition_found ON crm_fielddefinition USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE true;
ALTER INDEX fielddefinition_found ALTER COLUMN 3 SET STATISTICS 0;

ALTER TABLE crm_note ADD COLUMN IF NOT EXISTS search_text text DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_words tsvector DEFAULT '' NOT NULL;
CREATE OR REPLACE FUNCTION crm_note_update_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, NULL);
        RETURN OLD;
    END IF;
    NEW.search_text := search.fold(coalesce(NEW.excerpt, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.excerpt, ''), 35000), 'A') || setweight(search.words(NEW.account_id, coalesce(NEW.content, ''), 65536), 'D');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, CASE WHEN NEW.trashed_at IS NULL THEN NEW.search_text END);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER crm_note_update_search BEFORE INSERT OR DELETE OR UPDATE OF excerpt, content, trashed_at, search_text ON crm_note FOR EACH ROW EXECUTE FUNCTION crm_note_update_search();
CREATE OR REPLACE TRIGGER add_words AFTER INSERT ON crm_note REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();
CREATE INDEX IF NOT EXISTS note_found ON crm_note USING gin (account_id, creator_id, updater_id, kind, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE "trashed_at" IS NULL;
ALTER INDEX note_found ALTER COLUMN 6 SET STATISTICS 0;
