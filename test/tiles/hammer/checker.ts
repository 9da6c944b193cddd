/**
 * Judges a run by what was said and by what committed transactions wrote themselves (tables `expected` and `effect`). It knows nothing of ranges, rows
 * or statements.
 */
import type { ClientBase } from 'pg'
import type { Said } from './ledger.ts'
import { readLedgers } from './ledger.ts'

export interface Verdict {
  readonly pushed: number
  readonly polls: number
  readonly completions: number
  readonly lostCompletions: number
  /** Ordered pairs: a push that was acknowledged before another of its source began. */
  readonly pairs: number
  readonly late: { readonly pushes: number; readonly p50: number; readonly p99: number; readonly max: number }
  readonly counts: Readonly<Record<string, number>>
  readonly violations: Readonly<Record<string, { readonly n: number; readonly first: string }>>
}

type Push = Extract<Said, { k: 'push' }>
interface Given {
  readonly begin: number
  readonly end: number
  readonly owner: string
}

export class Checker {
  readonly #violations: Record<string, { n: number; first: string }> = {}
  readonly #counts: Record<string, number> = {}
  readonly #pushes = new Map<string, Push[]>()
  /** The first poll of each task. */
  readonly #firstPolls = new Map<string, Given>()
  /** The polls of each sequence by attempt. */
  readonly #given = new Map<number, Map<number, Given>>()
  readonly #done = new Set<string>()
  readonly #dones: Extract<Said, { k: 'done' }>[] = []
  readonly #touched = new Set<string>()
  #polls = 0
  #lost = 0

  violate(what: string, which: string): void {
    const known = this.#violations[what]
    if (known) known.n++
    else this.#violations[what] = { n: 1, first: which }
  }

  async judge(folder: string, client: ClientBase): Promise<Verdict> {
    for (const said of readLedgers(folder)) this.#hear(said)
    for (const done of this.#dones) this.#hearDone(done)
    await this.#compareEffects(client)
    const pairs = this.#judgeOrder()
    let pushed = 0
    for (const pushes of this.#pushes.values()) for (const { count, gone } of pushes) pushed += count - gone.length
    return {
      pushed,
      polls: this.#polls,
      completions: this.#done.size,
      lostCompletions: this.#lost,
      pairs,
      late: this.#latePolls(),
      counts: this.#counts,
      violations: this.#violations,
    }
  }

  #hear(said: Said): void {
    switch (said.k) {
      case 'push':
        this.#pushes.set(said.source, [...(this.#pushes.get(said.source) ?? []), said])
        break
      case 'poll':
        this.#polls++
        for (const [sequence, identifier, attempt] of said.tasks) this.#hearGiven(sequence, identifier, attempt, said)
        break
      case 'done':
        this.#lost += said.lost
        this.#dones.push(said)
        break
      case 'touched':
        for (const identifier of said.identifiers) this.#touched.add(identifier)
        this.#count(said.what, said.identifiers.length)
        break
      case 'count':
        if (said.what.startsWith('error')) this.violate(said.what, '')
        this.#count(said.what, said.n)
        break
      case 'broken':
        this.violate(said.what.replaceAll(/\d+/g, 'n'), said.what)
        break
    }
  }

  #count(what: string, n: number): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + n
  }

  #hearGiven(sequence: number, identifier: string, attempt: number, { begin, end, owner }: Extract<Said, { k: 'poll' }>): void {
    const attempts = this.#given.get(sequence) ?? new Map<number, Given>()
    const given: Given = { begin, end, owner }
    const before = attempts.get(attempt)
    if (before)
      this.violate('held by two at once', `${sequence} (${identifier}), attempt ${attempt}: ${before.owner} and ${owner}`)
    attempts.set(attempt, given)
    this.#given.set(sequence, attempts)
    if (attempt === 1) this.#firstPolls.set(identifier, given)
  }

  #hearDone({ begin, won }: Extract<Said, { k: 'done' }>): void {
    for (const [sequence, attempt] of won) {
      const key = `${sequence}, attempt ${attempt}`
      if (this.#done.has(key)) this.violate('completed twice', key)
      this.#done.add(key)
      for (const [other, { end }] of this.#given.get(sequence) ?? [])
        if (other > attempt && end < begin) this.violate('completed after a later attempt was polled', key)
    }
  }

  /** What each transaction promised when it committed, against what was done. */
  async #compareEffects(client: ClientBase): Promise<void> {
    const { rows } = await client.query<{ identifier: string; wanted: number; found: number; whys: string }>(`
      select coalesce(e.identifier, f.identifier) as identifier, coalesce(e.wanted, 0)::int as wanted, coalesce(f.found, 0)::int as found, e.whys
        from (select identifier, sum(delta) as wanted, string_agg(why, ' ') as whys from expected group by 1) e
        full join (select identifier, count(*) as found from effect group by 1) f using (identifier)
       where coalesce(e.wanted, 0) <> coalesce(f.found, 0)`)
    for (const { identifier, wanted, found, whys } of rows)
      this.violate(found < wanted ? 'never completed' : 'effects twice', `${identifier}: ${found} of ${wanted} (${whys})`)
    const promised = await client.query<{ identifier: string }>(`select identifier from expected where why = 'push'`)
    const kept = new Set(promised.rows.map(({ identifier }) => identifier))
    for (const { source, first, count, gone } of [...this.#pushes.values()].flat()) {
      const without = new Set(gone)
      for (let nth = first; nth < first + count; nth++)
        if (!without.has(nth) && !kept.has(`${source}-${nth}`)) this.violate('acknowledged and not there', `${source}-${nth}`)
    }
  }

  /**
   * A task is polled no later than one whose push began after its own was acknowledged: no poll of it begins after the poll of the other has ended.
   * Tasks of which the first poll is not known (its process was killed) and those that an operator touched are left out.
   */
  #judgeOrder(): number {
    let pairs = 0
    for (const pushes of this.#pushes.values()) {
      const groups = pushes.toSorted((a, b) => a.begin - b.begin).map((push) => this.#firstPollsOf(push))
      let later = 0
      let earliest = { end: Infinity, identifier: '' }
      for (const group of groups.toReversed()) {
        pairs += group.length * later
        for (const { identifier, begin } of group)
          if (begin > earliest.end) this.violate('overtaken', `${identifier} by ${earliest.identifier}`)
        for (const { identifier, end } of group) if (end < earliest.end) earliest = { end, identifier }
        later += group.length
      }
    }
    return pairs
  }

  #firstPollsOf({ source, first, count }: Push): (Given & { identifier: string })[] {
    return Array.from({ length: count }, (_, at) => `${source}-${first + at}`).flatMap((identifier) => {
      const given = this.#firstPolls.get(identifier)
      return given && !this.#touched.has(identifier) ? [{ ...given, identifier }] : []
    })
  }

  /** How long after its acknowledgement the first task of a late push was polled, in milliseconds. */
  #latePolls(): Verdict['late'] {
    const waits = [...this.#pushes.values()].flat().flatMap((push) => {
      const [given] = push.isLate ? this.#firstPollsOf(push) : []
      return given ? [(given.end - push.end) / 1_000] : []
    })
    const sorted = waits.sort((a, b) => a - b)
    const at = (share: number): number => Math.round((sorted[Math.floor(share * (sorted.length - 1))] ?? 0) * 10) / 10
    return { pushes: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) }
  }
}
