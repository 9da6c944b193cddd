/** Loaded before a process's program: its `Date` is off by LABORATORY_CLOCK_MS. */
const offMs = Number(process.env['LABORATORY_CLOCK_MS'] ?? 0)
if (offMs !== 0) {
  const Real = Date
  globalThis.Date = class extends Real {
    constructor(...args: readonly unknown[]) {
      if (args.length === 0) super(Real.now() + offMs)
      else super(...(args as [number]))
    }
    static override now(): number {
      return Real.now() + offMs
    }
  } as DateConstructor
}
