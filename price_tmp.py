import asyncio, sys, time, random
from statistics import median
from types import SimpleNamespace
from datetime import UTC, datetime
import bench.scale as sc
from bench.own_time import CaughtReceipts, assembler_of
from bench.texts import Writer
from sidecar.context.fan_out import FanOut
from sidecar.turn.items import Source
from store.db.postgres import open_pools, PoolsConfig, direct, installation, scoped
from store.tenancy import keys
from store.content import memories
from store.content.memories import NewMemory
U="postgresql://postgres@127.0.0.1:9700/"
async def place(db):
    dsn=U+db
    async with direct(dsn) as c:
        await keys.add(c, keys.FENCE, keys.Key("fence-x", b"x"*32), now=datetime.now(UTC))
    pools=await open_pools(dsn, PoolsConfig(turn_connections=6, background_connections=2))
    sources={Source.THREAD: sc.ThreadSource(pools.turn), Source.KNOWLEDGE: sc.KnowledgeSource(pools.turn), Source.MEMORY: sc.MemorySource(pools.turn), Source.WIKI: sc.WikiSource(pools.turn)}
    a=await assembler_of(pools, FanOut(sources, clock=time.monotonic), CaughtReceipts())
    async with installation(pools.background) as c: [fence,*_]=await keys.of(c, keys.FENCE)
    drafts=sc._drafted()[:2000]
    async with direct(dsn) as c:
        n=await c.fetchval("select count(*) from tenants")
        if not n:
            await sc._sql.make_drafts(c)
            await c.copy_records_to_table("drafts", records=drafts, columns=["place","text","words","signature"])
            await sc._sql.derive_drafts(c)
            sc._DRAFTS=2000
            await sc._put(c,(1,20),20,fence.key_id)
            await c.execute("ANALYZE")
    return SimpleNamespace(assembler=a,pools=pools,data_dir=None)
async def main():
    sc._DRAFTS=2000
    ps={db: await place(db) for db in ("plain","c1")}
    rng=random.Random(2); w=Writer(99); texts=[d[1] for d in sc._drafted()[:2000]]
    fails={}
    took={db:[] for db in ps}; wrote={db:[] for db in ps}
    for n in range(int(sys.argv[1])):
        s=sc._scope(1+rng.randrange(20),1+rng.randrange(20)); q=w.question_about(texts[n*7%2000])
        for db in ps:
            try: t=await sc._ask(ps[db], s, q)
            except Exception as e: fails[db]=fails.get(db,0)+1; continue
            if n>=30: took[db].append(t)
            prepared=await memories.prepare(s,[NewMemory(memory_id=f"m{n}", text=q, occurred_at=datetime.now(UTC))])
            b=time.perf_counter()
            async with scoped(ps[db].pools.background, s) as c:
                await memories.write(c, s, prepared, now=datetime.now(UTC)) if hasattr(memories,"write") else None
            if n>=30: wrote[db].append((time.perf_counter()-b)*1000)
    print(fails, {db:len(v) for db,v in took.items()})
    for k,d in (("turn",took),("retain",wrote)):
        print(k,{db:round(median(v),1) for db,v in d.items()}, round(median(d["c1"])/median(d["plain"]),2))
asyncio.run(main())
