-- Storage and statistics

ALTER TABLE ONLY public.accounts_apitoken ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_branding ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE ONLY public.accounts_group ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_handover ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_host ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_invitation ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE ONLY public.accounts_pipeline ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_session ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_signincode ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE ONLY public.accounts_status ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_tag ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_tagcount ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE ONLY public.accounts_user ALTER COLUMN account_id SET (n_distinct=2);

-- Foreign keys

ALTER TABLE ONLY account_ids.counter ADD CONSTRAINT counter_account_id_fk FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.accounts_apitoken ADD CONSTRAINT accounts_apitoken_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.accounts_handover ADD CONSTRAINT accounts_handover_session_id_fk FOREIGN KEY (account_id, session_id) REFERENCES public.accounts_session(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.accounts_invitation ADD CONSTRAINT accounts_invitation_invited_by_id_fk FOREIGN KEY (account_id, invited_by_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.accounts_session ADD CONSTRAINT accounts_session_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.accounts_status ADD CONSTRAINT accounts_status_pipeline_id_fk FOREIGN KEY (account_id, pipeline_id) REFERENCES public.accounts_pipeline(account_id, id);
ALTER TABLE ONLY public.accounts_tagcount ADD CONSTRAINT accounts_tagcount_tag_id_fk FOREIGN KEY (account_id, tag_id) REFERENCES public.accounts_tag(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.accounts_user ADD CONSTRAINT accounts_user_group_id_fk FOREIGN KEY (account_id, group_id) REFERENCES public.accounts_group(account_id, id) ON DELETE SET NULL (group_id);

-- Triggers

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON public.accounts_group DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('group');
CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON public.accounts_pipeline DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('pipeline');
CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON public.accounts_status DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('status');
CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_apitoken FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_group FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_handover FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_invitation FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_pipeline FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_session FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_signincode FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_status FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_tag FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_user FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

-- Search: what `makemigrations` writes for the declarations

ALTER TABLE accounts_group ADD COLUMN IF NOT EXISTS search_name text COLLATE "C" DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_text text DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_words tsvector DEFAULT '' NOT NULL;
CREATE OR REPLACE FUNCTION accounts_group_update_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, OLD.search_text, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, ''), 35000), 'A');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, OLD.search_text, NEW.search_text);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER accounts_group_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, search_text ON accounts_group FOR EACH ROW EXECUTE FUNCTION accounts_group_update_search();
CREATE OR REPLACE TRIGGER add_words AFTER INSERT ON accounts_group REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();
CREATE INDEX IF NOT EXISTS group_by_name ON accounts_group (account_id, search_name, id) WHERE true;
CREATE INDEX IF NOT EXISTS group_found ON accounts_group USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE true;
ALTER INDEX group_found ALTER COLUMN 3 SET STATISTICS 0;

ALTER TABLE accounts_pipeline ADD COLUMN IF NOT EXISTS search_name text COLLATE "C" DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_text text DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_words tsvector DEFAULT '' NOT NULL;
CREATE OR REPLACE FUNCTION accounts_pipeline_update_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, OLD.search_text, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, ''), 35000), 'A');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, OLD.search_text, NEW.search_text);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER accounts_pipeline_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, search_text ON accounts_pipeline FOR EACH ROW EXECUTE FUNCTION accounts_pipeline_update_search();
CREATE OR REPLACE TRIGGER add_words AFTER INSERT ON accounts_pipeline REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();
CREATE INDEX IF NOT EXISTS pipeline_by_name ON accounts_pipeline (account_id, search_name, id) WHERE true;
CREATE INDEX IF NOT EXISTS pipeline_found ON accounts_pipeline USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE true;
ALTER INDEX pipeline_found ALTER COLUMN 3 SET STATISTICS 0;

ALTER TABLE accounts_status ADD COLUMN IF NOT EXISTS search_name text COLLATE "C" DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_text text DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_words tsvector DEFAULT '' NOT NULL;
CREATE OR REPLACE FUNCTION accounts_status_update_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, OLD.search_text, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, '') || ' ' || coalesce(NEW.code, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, '') || ' ' || coalesce(NEW.code, ''), 35000), 'A');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, OLD.search_text, NEW.search_text);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER accounts_status_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, code, search_text ON accounts_status FOR EACH ROW EXECUTE FUNCTION accounts_status_update_search();
CREATE OR REPLACE TRIGGER add_words AFTER INSERT ON accounts_status REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();
CREATE INDEX IF NOT EXISTS status_by_name ON accounts_status (account_id, search_name, id) WHERE true;
CREATE INDEX IF NOT EXISTS status_found ON accounts_status USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE true;
ALTER INDEX status_found ALTER COLUMN 3 SET STATISTICS 0;

ALTER TABLE accounts_user ADD COLUMN IF NOT EXISTS search_name text COLLATE "C" DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_text text DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_words tsvector DEFAULT '' NOT NULL;
CREATE OR REPLACE FUNCTION accounts_user_update_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, OLD.search_text, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, '') || ' ' || coalesce(NEW.login, '') || ' ' || coalesce(NEW.email, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, '') || ' ' || coalesce(NEW.login, '') || ' ' || coalesce(NEW.email, ''), 35000), 'A') || setweight(search.words(NEW.account_id, coalesce(NEW.description, ''), 65536), 'D');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, OLD.search_text, NEW.search_text);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER accounts_user_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, login, email, description, search_text ON accounts_user FOR EACH ROW EXECUTE FUNCTION accounts_user_update_search();
CREATE OR REPLACE TRIGGER add_words AFTER INSERT ON accounts_user REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();
CREATE INDEX IF NOT EXISTS user_by_name ON accounts_user (account_id, search_name, id) WHERE "role" IN ('owner', 'admin', 'agent');
CREATE INDEX IF NOT EXISTS user_found ON accounts_user USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE "role" IN ('owner', 'admin', 'agent');
ALTER INDEX user_found ALTER COLUMN 3 SET STATISTICS 0;
CREATE INDEX IF NOT EXISTS member_found ON accounts_user USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE "role" = 'member';
ALTER INDEX member_found ALTER COLUMN 3 SET STATISTICS 0;
