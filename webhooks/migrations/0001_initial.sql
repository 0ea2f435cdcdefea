-- Generated columns, storage and statistics

ALTER TABLE ONLY public.webhooks_delivery ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.webhooks_endpoint ALTER COLUMN account_id SET (n_distinct=2);

-- Foreign keys

ALTER TABLE ONLY public.webhooks_delivery ADD CONSTRAINT webhooks_delivery_endpoint_id_fk FOREIGN KEY (account_id, endpoint_id) REFERENCES public.webhooks_endpoint(account_id, id) ON DELETE CASCADE;

-- Triggers

CREATE TRIGGER take_id BEFORE INSERT ON public.webhooks_delivery FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.webhooks_endpoint FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
