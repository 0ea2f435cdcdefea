-- Sequences

CREATE SEQUENCE public.forum_activity_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE SEQUENCE public.forum_facetcount_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- Functions

CREATE FUNCTION public.forum_facetcount_insert_deltas() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            BEGIN
                IF TG_OP = 'UPDATE' AND (OLD.category_id, OLD.forum_id, OLD.kind, OLD.status_id, OLD.tags, OLD.visibility) IS NOT DISTINCT FROM (NEW.category_id, NEW.forum_id, NEW.kind, NEW.status_id, NEW.tags, NEW.visibility) THEN
                    RETURN NULL;
                END IF;
                IF OLD.visibility > 0 THEN 
            INSERT INTO forum_facetcount (account_id, forum_id, level, tag, category_id, status_id, kind, visibility, posts, number)
            SELECT *, nextval('forum_facetcount_numbers') FROM (SELECT OLD.account_id, value.*, -1 FROM (SELECT OLD.forum_id, 0, '', OLD.category_id, OLD.status_id, OLD.kind, OLD.visibility) AS value) AS rows
        ; END IF; IF OLD.visibility > 0 AND OLD.tags <> '{}' THEN 
            INSERT INTO forum_facetcount (account_id, forum_id, level, tag, category_id, status_id, kind, visibility, posts, number)
            SELECT *, nextval('forum_facetcount_numbers') FROM (SELECT OLD.account_id, value.*, -1 FROM (
            SELECT OLD.forum_id, 1, tag, 0, 0, '', OLD.visibility FROM unnest(OLD.tags) AS tag
            UNION ALL
            SELECT OLD.forum_id, 2, tag, OLD.category_id, OLD.status_id, OLD.kind, OLD.visibility
            FROM unnest(OLD.tags) AS tag
            ) AS value) AS rows
        ; END IF; IF NEW.visibility > 0 THEN 
            INSERT INTO forum_facetcount (account_id, forum_id, level, tag, category_id, status_id, kind, visibility, posts, number)
            SELECT *, nextval('forum_facetcount_numbers') FROM (SELECT NEW.account_id, value.*, 1 FROM (SELECT NEW.forum_id, 0, '', NEW.category_id, NEW.status_id, NEW.kind, NEW.visibility) AS value) AS rows
        ; END IF; IF NEW.visibility > 0 AND NEW.tags <> '{}' THEN 
            INSERT INTO forum_facetcount (account_id, forum_id, level, tag, category_id, status_id, kind, visibility, posts, number)
            SELECT *, nextval('forum_facetcount_numbers') FROM (SELECT NEW.account_id, value.*, 1 FROM (
            SELECT NEW.forum_id, 1, tag, 0, 0, '', NEW.visibility FROM unnest(NEW.tags) AS tag
            UNION ALL
            SELECT NEW.forum_id, 2, tag, NEW.category_id, NEW.status_id, NEW.kind, NEW.visibility
            FROM unnest(NEW.tags) AS tag
            ) AS value) AS rows
        ; END IF;
                RETURN NULL;
            END $$;

-- Statement triggers count the notifications of many users with one UPDATE. For an INSERT or DELETE, they lock the users in the order of
-- their ids, as all code that locks several users does.
CREATE FUNCTION public.forum_count_notifications() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    sign CONSTANT integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        UPDATE accounts_user SET unread_notifications = greatest(0, unread_notifications + counted.number)
        FROM (
            SELECT account_id, user_id, sum(step) AS number FROM (
                SELECT account_id, user_id, -1 AS step FROM former WHERE read_at IS NULL
                UNION ALL SELECT account_id, user_id, 1 FROM changed WHERE read_at IS NULL
            ) AS steps GROUP BY account_id, user_id HAVING sum(step) <> 0
        ) AS counted
        WHERE accounts_user.account_id = counted.account_id AND accounts_user.id = counted.user_id;
    ELSE
        PERFORM FROM accounts_user WHERE (account_id, id) IN (SELECT account_id, user_id FROM changed WHERE read_at IS NULL)
        ORDER BY account_id, id FOR NO KEY UPDATE;
        UPDATE accounts_user SET unread_notifications = greatest(0, unread_notifications + sign * counted.number)
        FROM (
            SELECT account_id, user_id, count(*) AS number FROM changed WHERE read_at IS NULL GROUP BY account_id, user_id
        ) AS counted
        WHERE accounts_user.account_id = counted.account_id AND accounts_user.id = counted.user_id;
    END IF;
    RETURN NULL;
END $$;

-- Keep the number and the weight of the votes of posts. An update that changes no time of a vote, such as SET NULL by a foreign key, changes
-- no post. For an INSERT or DELETE, the posts are locked in the order of their ids, as in all code that locks several posts, so that no
-- deadlock can occur.
CREATE FUNCTION public.forum_count_votes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        UPDATE forum_post SET vote_weight = (
            SELECT forum_log2_sum(forum_half_lives(votes.created_at)) FROM (
                SELECT created_at FROM forum_vote WHERE account_id = forum_post.account_id AND post_id = forum_post.id
                UNION ALL
                SELECT created_at FROM forum_proxyvote WHERE account_id = forum_post.account_id AND post_id = forum_post.id
            ) AS votes
        )
        WHERE (account_id, id) IN (
            SELECT account_id, post_id FROM (
                SELECT account_id, post_id, created_at FROM changed
                EXCEPT ALL SELECT account_id, post_id, created_at FROM former
            ) AS moved
        );
        INSERT INTO forum_votechange (account_id, post_id, user_id)
        SELECT account_id, post_id, CASE WHEN TG_TABLE_NAME = 'forum_vote' THEN user_id END FROM changed
        UNION SELECT account_id, post_id, CASE WHEN TG_TABLE_NAME = 'forum_vote' THEN user_id END FROM former;
        RETURN NULL;
    END IF;
    PERFORM FROM forum_post WHERE (account_id, id) IN (SELECT account_id, post_id FROM changed)
    ORDER BY account_id, id FOR NO KEY UPDATE;
    IF TG_OP = 'INSERT' THEN
        UPDATE forum_post SET votes_cache = votes_cache + counted.number,
            vote_weight = forum_log2_add(vote_weight, counted.weight)
        FROM (
            SELECT account_id, post_id, count(*) AS number, forum_log2_sum(forum_half_lives(created_at)) AS weight
            FROM changed GROUP BY account_id, post_id
        ) AS counted
        WHERE forum_post.account_id = counted.account_id AND forum_post.id = counted.post_id;
    ELSE
        UPDATE forum_post SET votes_cache = votes_cache - counted.number, vote_weight = (
            SELECT forum_log2_sum(forum_half_lives(votes.created_at)) FROM (
                SELECT created_at FROM forum_vote WHERE account_id = forum_post.account_id AND post_id = forum_post.id
                UNION ALL
                SELECT created_at FROM forum_proxyvote WHERE account_id = forum_post.account_id AND post_id = forum_post.id
            ) AS votes
        )
        FROM (SELECT account_id, post_id, count(*) AS number FROM changed GROUP BY account_id, post_id) AS counted
        WHERE forum_post.account_id = counted.account_id AND forum_post.id = counted.post_id;
    END IF;
    INSERT INTO forum_votechange (account_id, post_id, user_id)
    SELECT DISTINCT account_id, post_id, CASE WHEN TG_TABLE_NAME = 'forum_vote' THEN user_id END FROM changed;
    RETURN NULL;
END $$;

-- Storage and statistics

ALTER TABLE ONLY public.forum_activity ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.forum_category ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.forum_votechange SET (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
ALTER TABLE public.forum_comment SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.forum_comment ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.forum_commentversion ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.forum_contentreport ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.forum_facetcount SET (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
ALTER TABLE ONLY public.forum_facetcount ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.forum_follow ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.forum_forum ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.forum_forumaddress ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.forum_forummember ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.forum_notification ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE public.forum_post SET (fillfactor='90', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE public.forum_post ALTER COLUMN additional_fields SET DEFAULT '{}';
ALTER TABLE ONLY public.forum_post ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.forum_postsortkey SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.forum_postsortkey ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.forum_proxyvote ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.forum_statuschange ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.forum_vote SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.forum_vote ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.forum_votechange ALTER COLUMN account_id SET (n_distinct=2);

-- Foreign keys

ALTER TABLE ONLY public.forum_activity ADD CONSTRAINT forum_activity_comment_id_fk FOREIGN KEY (account_id, comment_id) REFERENCES public.forum_comment(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_activity ADD CONSTRAINT forum_activity_note_id_fk FOREIGN KEY (account_id, note_id) REFERENCES public.crm_note(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_activity ADD CONSTRAINT forum_activity_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_activity ADD CONSTRAINT forum_activity_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.forum_category ADD CONSTRAINT forum_category_forum_id_fk FOREIGN KEY (account_id, forum_id) REFERENCES public.forum_forum(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_comment ADD CONSTRAINT forum_comment_from_post_id_fk FOREIGN KEY (account_id, from_post_id) REFERENCES public.forum_post(account_id, id) ON DELETE SET NULL (from_post_id);
ALTER TABLE ONLY public.forum_comment ADD CONSTRAINT forum_comment_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_comment ADD CONSTRAINT forum_comment_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.forum_commentversion ADD CONSTRAINT forum_commentversion_comment_id_fk FOREIGN KEY (account_id, comment_id) REFERENCES public.forum_comment(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_commentversion ADD CONSTRAINT forum_commentversion_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.forum_contentreport ADD CONSTRAINT forum_contentreport_comment_id_fk FOREIGN KEY (account_id, comment_id) REFERENCES public.forum_comment(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_contentreport ADD CONSTRAINT forum_contentreport_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_contentreport ADD CONSTRAINT forum_contentreport_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_follow ADD CONSTRAINT forum_follow_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_follow ADD CONSTRAINT forum_follow_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_forum ADD CONSTRAINT forum_forum_host_id_fk FOREIGN KEY (account_id, host_id) REFERENCES public.accounts_host(account_id, id);
ALTER TABLE ONLY public.forum_forumaddress ADD CONSTRAINT forum_forumaddress_forum_id_fk FOREIGN KEY (account_id, forum_id) REFERENCES public.forum_forum(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_forummember ADD CONSTRAINT forum_forummember_forum_id_fk FOREIGN KEY (account_id, forum_id) REFERENCES public.forum_forum(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_forummember ADD CONSTRAINT forum_forummember_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_notification ADD CONSTRAINT forum_notification_activity_id_fk FOREIGN KEY (account_id, activity_id) REFERENCES public.forum_activity(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_notification ADD CONSTRAINT forum_notification_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_post ADD CONSTRAINT forum_post_category_id_fk FOREIGN KEY (account_id, category_id) REFERENCES public.forum_category(account_id, id);
ALTER TABLE ONLY public.forum_post ADD CONSTRAINT forum_post_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE SET NULL (client_id);
ALTER TABLE ONLY public.forum_post ADD CONSTRAINT forum_post_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE SET NULL (contact_id);
ALTER TABLE ONLY public.forum_post ADD CONSTRAINT forum_post_deal_id_fk FOREIGN KEY (account_id, deal_id) REFERENCES public.crm_deal(account_id, id) ON DELETE SET NULL (deal_id);
ALTER TABLE ONLY public.forum_post ADD CONSTRAINT forum_post_duplicate_from_id_fk FOREIGN KEY (account_id, duplicate_from_id) REFERENCES public.forum_post(account_id, id) ON DELETE SET NULL (duplicate_from_id);
ALTER TABLE ONLY public.forum_post ADD CONSTRAINT forum_post_forum_id_fk FOREIGN KEY (account_id, forum_id) REFERENCES public.forum_forum(account_id, id);
ALTER TABLE ONLY public.forum_post ADD CONSTRAINT forum_post_response_user_id_fk FOREIGN KEY (account_id, response_user_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.forum_post ADD CONSTRAINT forum_post_responsible_id_fk FOREIGN KEY (account_id, responsible_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.forum_post ADD CONSTRAINT forum_post_status_before_merge_id_fk FOREIGN KEY (account_id, status_before_merge_id) REFERENCES public.accounts_status(account_id, id) ON DELETE SET NULL (status_before_merge_id);
ALTER TABLE ONLY public.forum_post ADD CONSTRAINT forum_post_status_id_fk FOREIGN KEY (account_id, status_id) REFERENCES public.accounts_status(account_id, id);
ALTER TABLE ONLY public.forum_post ADD CONSTRAINT forum_post_trashed_by_id_fk FOREIGN KEY (account_id, trashed_by_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.forum_post ADD CONSTRAINT forum_post_trashed_client_id_fk FOREIGN KEY (account_id, trashed_client_id) REFERENCES public.crm_client(account_id, id) ON DELETE SET NULL (trashed_client_id);
ALTER TABLE ONLY public.forum_post ADD CONSTRAINT forum_post_trashed_contact_id_fk FOREIGN KEY (account_id, trashed_contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE SET NULL (trashed_contact_id);
ALTER TABLE ONLY public.forum_post ADD CONSTRAINT forum_post_trashed_deal_id_fk FOREIGN KEY (account_id, trashed_deal_id) REFERENCES public.crm_deal(account_id, id) ON DELETE SET NULL (trashed_deal_id);
ALTER TABLE ONLY public.forum_post ADD CONSTRAINT forum_post_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.forum_proxyvote ADD CONSTRAINT forum_proxyvote_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_proxyvote ADD CONSTRAINT forum_proxyvote_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_proxyvote ADD CONSTRAINT forum_proxyvote_from_post_id_fk FOREIGN KEY (account_id, from_post_id) REFERENCES public.forum_post(account_id, id) ON DELETE SET NULL (from_post_id);
ALTER TABLE ONLY public.forum_proxyvote ADD CONSTRAINT forum_proxyvote_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_proxyvote ADD CONSTRAINT forum_proxyvote_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.forum_statuschange ADD CONSTRAINT forum_statuschange_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_statuschange ADD CONSTRAINT forum_statuschange_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.forum_vote ADD CONSTRAINT forum_vote_from_post_id_fk FOREIGN KEY (account_id, from_post_id) REFERENCES public.forum_post(account_id, id) ON DELETE SET NULL (from_post_id);
ALTER TABLE ONLY public.forum_vote ADD CONSTRAINT forum_vote_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.forum_vote ADD CONSTRAINT forum_vote_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);

-- Triggers

CREATE TRIGGER copy_live_row AFTER INSERT OR UPDATE OR DELETE ON public.forum_post FOR EACH ROW EXECUTE FUNCTION public.core_copy_live_row('forum_postsortkey', 'forum_id', 'category_id', 'status_id', 'visibility', 'client_id', 'contact_id', 'deal_id', 'votes_cache', 'comments_cache', 'trending', 'updated_at');
CREATE TRIGGER count_cast AFTER INSERT ON public.forum_proxyvote REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_votes();
CREATE TRIGGER count_cast AFTER INSERT ON public.forum_vote REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_votes();
CREATE TRIGGER count_created AFTER INSERT ON public.forum_notification REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_notifications();
CREATE TRIGGER count_deleted AFTER DELETE ON public.forum_notification REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_notifications();
CREATE TRIGGER count_read AFTER UPDATE ON public.forum_notification REFERENCING OLD TABLE AS former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_notifications();
CREATE TRIGGER count_withdrawn AFTER DELETE ON public.forum_proxyvote REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_votes();
CREATE TRIGGER count_withdrawn AFTER DELETE ON public.forum_vote REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_votes();
CREATE TRIGGER forum_facetcount_count AFTER INSERT OR UPDATE OR DELETE ON public.forum_post FOR EACH ROW EXECUTE FUNCTION public.forum_facetcount_insert_deltas();
CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON public.forum_post DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('post', 'trashable');
-- Activities take their ids from a sequence of their own. If they took them from the counter of the account, each comment would leave a gap
-- in the ids that users see.
CREATE TRIGGER take_id BEFORE INSERT ON public.forum_activity FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take('public.forum_activity_ids');
CREATE TRIGGER take_id BEFORE INSERT ON public.forum_category FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.forum_comment FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.forum_commentversion FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.forum_contentreport FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.forum_follow FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.forum_forum FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.forum_forumaddress FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.forum_forummember FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.forum_notification FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.forum_post FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.forum_proxyvote FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.forum_statuschange FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER weigh_changed AFTER UPDATE ON public.forum_proxyvote REFERENCING OLD TABLE AS former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_votes();
CREATE TRIGGER weigh_changed AFTER UPDATE ON public.forum_vote REFERENCING OLD TABLE AS former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_votes();

-- Search: what `makemigrations` writes for the declarations

ALTER TABLE forum_post ADD COLUMN IF NOT EXISTS search_text text DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_words tsvector DEFAULT '' NOT NULL;
CREATE OR REPLACE FUNCTION forum_post_update_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, NULL);
        RETURN OLD;
    END IF;
    NEW.search_text := search.fold(coalesce(NEW.title, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.title, ''), 35000), 'A') || setweight(search.words(NEW.account_id, coalesce(NEW.content, '') || ' ' || coalesce(NEW.response, ''), 65536), 'D');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, CASE WHEN NEW.trashed_at IS NULL THEN NEW.search_text END);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER forum_post_update_search BEFORE INSERT OR DELETE OR UPDATE OF title, content, response, trashed_at, search_text ON forum_post FOR EACH ROW EXECUTE FUNCTION forum_post_update_search();
CREATE OR REPLACE TRIGGER add_words AFTER INSERT ON forum_post REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();
CREATE INDEX IF NOT EXISTS post_found ON forum_post USING gin (account_id, category_id, forum_id, status_id, responsible_id, user_id, tags, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE "trashed_at" IS NULL;
ALTER INDEX post_found ALTER COLUMN 9 SET STATISTICS 0;
