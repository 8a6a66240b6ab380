-- The trigger variant: every report that is inserted is answered by a trigger, row by row, in the place of `on_second`.

create unlogged table reports (
    vid int, xway int, dir int, phase int, time int, lane int, seg int, pos int, run int, quote int,
    primary key (vid, xway, dir, phase)
) with (fillfactor = 50);
create index on tolls (xway, dir, seg);

create function on_report() returns trigger language plpgsql as $$
declare
    p reports;
    t tolls;
    goes_on boolean;
    stays boolean;
    ran int;
    owed int;
    quoted int;
begin
    insert into speeds values (new.xway, new.dir, new.seg, new.vid, new.speed);
    select * into p from reports
    where vid = new.vid and xway = new.xway and dir = new.dir and phase = new.time % 30 and time = new.time - 30;
    goes_on := found;
    stays := goes_on and p.seg = new.seg;
    select * into t from tolls where xway = new.xway and dir = new.dir and seg = new.seg;
    ran := case when goes_on and p.lane = new.lane and p.pos = new.pos then p.run + 1 else 1 end;
    owed := case when goes_on and not stays then p.quote else 0 end;
    quoted := case when stays then p.quote when new.lane = 4 then 0 else coalesce(t.toll, 0) end;

    insert into came values (new.vid, new.time, new.xway, new.dir, new.lane, new.seg, new.pos, ran, not stays, owed,
        quoted, coalesce(t.lav, -1), t.accident);
    insert into reports values (new.vid, new.xway, new.dir, new.time % 30, new.time, new.lane, new.seg, new.pos, ran, quoted)
    on conflict (vid, xway, dir, phase) do update set time = excluded.time, lane = excluded.lane, seg = excluded.seg,
        pos = excluded.pos, run = excluded.run, quote = excluded.quote;

    -- Rule 16.
    if owed > 0 then
        insert into accounts values (new.vid, owed, new.time)
        on conflict (vid) do update set balance = accounts.balance + excluded.balance, since = excluded.since;
    end if;

    -- Rules 9 to 12: both vehicles are stopped from the later report until 30 s after the earlier one.
    if ran >= 4 and new.lane between 1 and 3 then
        delete from stopped where time <= new.time - 30;
        insert into accidents
        select distinct m, new.xway, new.dir, new.pos / 5280
        from stopped s, generate_series(new.time / 60 + 1, (s.time + 29) / 60 + 1) m
        where s.xway = new.xway and s.dir = new.dir and s.lane = new.lane and s.pos = new.pos and s.vid <> new.vid
        except select minute, xway, dir, seg from accidents;
        insert into stopped values (new.vid, new.time, new.xway, new.dir, new.lane, new.pos);
    end if;
    return null;
end $$;

create trigger answer after insert on arrived for each row when (new.type = 0) execute function on_report();
