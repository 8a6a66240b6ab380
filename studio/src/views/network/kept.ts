// What was drawn, kept while it looks the same: React then leaves it alone.

export class Kept<Thing> {
  private readonly things = new Map<string, { looks: string; thing: Thing }>();

  /** The thing of that name as it was, if it still looks so; else the new one. */
  keep(name: string, looks: string, thing: Thing): Thing {
    const before = this.things.get(name);
    if (before?.looks === looks) return before.thing;
    this.things.set(name, { looks, thing });
    return thing;
  }
}
