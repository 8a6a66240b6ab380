-- What is done once a second with `arrived`, the events of second $second. Its minute is $minute; {phase} is $second % 30.

-- Rule 8: the predecessor is the report of the same vehicle, expressway and direction exactly 30 s before. So of each
-- vehicle only the latest batch of the same phase matters, and the table of a phase is simply replaced.
create or replace temp table came as
select r.vid, r.time, r.xway, r.dir, r.lane, r.seg, r.pos,
    case when before.lane = r.lane and before.pos = r.pos then before.run + 1 else 1 end as run,
    before.vid is null or before.seg <> r.seg as entered,
    case when before.seg <> r.seg then before.quote else 0 end as charge,
    case when before.seg = r.seg then before.quote when r.lane = 4 then 0 else coalesce(tolls.toll, 0) end as quote,
    coalesce(tolls.lav, -1) as lav,
    tolls.accident
from arrived r
left join phase_{phase} before on before.vid = r.vid and before.xway = r.xway and before.dir = r.dir and before.time = $second - 30
left join tolls on tolls.xway = r.xway and tolls.dir = r.dir and tolls.seg = r.seg
where r.type = 0;

create or replace table phase_{phase} as select vid, time, xway, dir, lane, seg, pos, run, quote from came;

insert into speeds select xway, dir, seg, vid, speed from arrived where type = 0;

-- Rules 9, 10 and 12: stopped by four reports from one place, until 30 s after the last; two in a place are an accident.
delete from stopped where time <= $second - 30;
insert into stopped select vid, time, xway, dir, lane, pos from came where run >= 4 and lane between 1 and 3;
insert into accidents
select $minute, xway, dir, pos // 5280 from stopped group by xway, dir, lane, pos having count(distinct vid) > 1
except select minute, xway, dir, seg from accidents;

-- Rule 16: the toll quoted on entering a segment is charged when the report from the next one arrives.
insert into accounts select vid, sum(charge), $second from came where charge > 0 group by vid
on conflict (vid) do update set balance = balance + excluded.balance, since = excluded.since;
