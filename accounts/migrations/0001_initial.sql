-- Generated columns, storage and statistics

ALTER TABLE ONLY public.accounts_apitoken ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_branding ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE public.accounts_group
    ADD COLUMN search_name text COLLATE "C" NOT NULL GENERATED ALWAYS AS (search.name(name)) STORED,
    ADD COLUMN search_text text NOT NULL GENERATED ALWAYS AS (search.fold(coalesce(name, ''))) STORED,
    ADD COLUMN search_words tsvector NOT NULL GENERATED ALWAYS AS (setweight(search.words(account_id, coalesce(name, ''), 35000), 'A')) STORED;

ALTER TABLE ONLY public.accounts_group ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_handover ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_host ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_invitation ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE public.accounts_pipeline
    ADD COLUMN search_name text COLLATE "C" NOT NULL GENERATED ALWAYS AS (search.name(name)) STORED,
    ADD COLUMN search_text text NOT NULL GENERATED ALWAYS AS (search.fold(coalesce(name, ''))) STORED,
    ADD COLUMN search_words tsvector NOT NULL GENERATED ALWAYS AS (setweight(search.words(account_id, coalesce(name, ''), 35000), 'A')) STORED;

ALTER TABLE ONLY public.accounts_pipeline ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_session ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_signincode ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE public.accounts_status
    ADD COLUMN search_name text COLLATE "C" NOT NULL GENERATED ALWAYS AS (search.name(name)) STORED,
    ADD COLUMN search_text text NOT NULL GENERATED ALWAYS AS (search.fold(coalesce(name, '') || ' ' || coalesce(code, ''))) STORED,
    ADD COLUMN search_words tsvector NOT NULL GENERATED ALWAYS AS (setweight(search.words(account_id, coalesce(name, '') || ' ' || coalesce(code, ''), 35000), 'A')) STORED;

ALTER TABLE ONLY public.accounts_status ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_tag ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_tagcount ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE public.accounts_user
    ADD COLUMN search_name text COLLATE "C" NOT NULL GENERATED ALWAYS AS (search.name(name)) STORED,
    ADD COLUMN search_text text NOT NULL GENERATED ALWAYS AS (search.fold(coalesce(name, '') || ' ' || coalesce(login, '') || ' ' || coalesce(email, ''))) STORED,
    ADD COLUMN search_words tsvector NOT NULL GENERATED ALWAYS AS (setweight(search.words(account_id, coalesce(name, '') || ' ' || coalesce(login, '') || ' ' || coalesce(email, ''), 35000), 'A') || setweight(search.words(account_id, coalesce(description, ''), 65536), 'D')) STORED;

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

-- Search: indexes, and triggers that store the words

CREATE INDEX group_by_name ON public.accounts_group (account_id, search_name, id) WHERE true;
CREATE INDEX group_found ON public.accounts_group USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE true;
ALTER INDEX public.group_found ALTER COLUMN 3 SET STATISTICS 0;
CREATE TRIGGER add_words AFTER INSERT ON public.accounts_group REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();
CREATE TRIGGER update_words AFTER UPDATE OR DELETE ON public.accounts_group FOR EACH ROW EXECUTE FUNCTION search.update_words();
CREATE INDEX pipeline_by_name ON public.accounts_pipeline (account_id, search_name, id) WHERE true;
CREATE INDEX pipeline_found ON public.accounts_pipeline USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE true;
ALTER INDEX public.pipeline_found ALTER COLUMN 3 SET STATISTICS 0;
CREATE TRIGGER add_words AFTER INSERT ON public.accounts_pipeline REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();
CREATE TRIGGER update_words AFTER UPDATE OR DELETE ON public.accounts_pipeline FOR EACH ROW EXECUTE FUNCTION search.update_words();
CREATE INDEX status_by_name ON public.accounts_status (account_id, search_name, id) WHERE true;
CREATE INDEX status_found ON public.accounts_status USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE true;
ALTER INDEX public.status_found ALTER COLUMN 3 SET STATISTICS 0;
CREATE TRIGGER add_words AFTER INSERT ON public.accounts_status REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();
CREATE TRIGGER update_words AFTER UPDATE OR DELETE ON public.accounts_status FOR EACH ROW EXECUTE FUNCTION search.update_words();
CREATE INDEX user_by_name ON public.accounts_user (account_id, search_name, id) WHERE "role" IN ('owner', 'admin', 'agent');
CREATE INDEX user_found ON public.accounts_user USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE "role" IN ('owner', 'admin', 'agent');
ALTER INDEX public.user_found ALTER COLUMN 3 SET STATISTICS 0;
CREATE INDEX member_found ON public.accounts_user USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE "role" = 'member';
ALTER INDEX public.member_found ALTER COLUMN 3 SET STATISTICS 0;
CREATE TRIGGER add_words AFTER INSERT ON public.accounts_user REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();
CREATE TRIGGER update_words AFTER UPDATE OR DELETE ON public.accounts_user FOR EACH ROW EXECUTE FUNCTION search.update_words();
