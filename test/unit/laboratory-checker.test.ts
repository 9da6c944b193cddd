/** The laboratory's checker finds each kind of violation that is planted into a history, and none where there is none. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { check, rules } from '../laboratory/checker/check.ts'
import { states } from '../laboratory/checker/history.ts'
import type { Left, Measure } from '../laboratory/checker/history.ts'
import { readHistory, writeHistory } from '../laboratory/checker/read.ts'
import { shrink } from '../laboratory/checker/shrink.ts'
import { momentsOf, timelineSvg, timelineText } from '../laboratory/checker/timeline.ts'
import { changesOf, story } from './story.ts'
import type { Story } from './story.ts'

/** What is planted, and the rule that must find it. */
const plants: readonly [rule: string, what: string, plant: (history: Story) => void][] = [
  ['lost', 'a pushed task without a row', (h) => void (h.changes = h.changes.filter(({ key }) => key !== 'plain-3'))],
  [
    'lost',
    'a task that was never done',
    (h) => void (h.changes = h.changes.filter(({ key, state }) => key !== 'plain-3' || state === states.ready)),
  ],
  ['invented', 'a task that nobody pushed', (h) => void h.changes.push({ ...h.changes[0]!, sequence: 999, key: 'nobody' })],
  [
    'invented',
    'a task of a push that was rolled back',
    (h) => {
      const done = h.events.find((event) => event.verb === 'push' && event.phase === 'done')!
      h.events[h.events.indexOf(done)] = {
        at: done.at,
        actor: 'producer',
        verb: 'push',
        call: (done as { call: number }).call,
        phase: 'failed',
      }
    },
  ],
  ['twice', 'a push that was committed twice', (h) => void h.changes.push({ ...h.changes[0]!, sequence: 999 })],
  ['twice', 'two effects of one task', (h) => void h.effects.push({ ...h.effects[0]!, attempt: 2 })],
  [
    'effects',
    'an effect without its completion',
    (h) => void (h.changes = h.changes.filter(({ key, state }) => key !== 'plain-3' || state !== states.succeeded)),
  ],
  ['effects', 'a completion without its effect', (h) => void (h.effects = h.effects.filter(({ key }) => key !== 'plain-3'))],
  ['effects', 'an effect of another transaction', (h) => void (h.effects[2]!.transaction = 'another')],
  [
    'ways',
    'a task that runs again after it was done',
    (h) => void h.changes.push({ ...h.changes[1]!, attempt: 2, at: h.changes.at(-1)!.at + 1 }),
  ],
  ['ways', 'a task that failed', (h) => void (changesOf(h, 'plain', states.succeeded)[0]!.state = states.failed)],
  ['ways', 'a task that was deleted', (h) => void h.changes.push({ ...h.changes[0]!, isNew: false, state: undefined })],
  [
    'pipelines',
    'a step whose next task is missing',
    (h) => void (h.changes = h.changes.filter(({ key, topic: name }) => name !== 'second' || key !== 'first-2 of first')),
  ],
  [
    'pipelines',
    'a next task whose step was not done',
    (h) => void (h.effects = h.effects.filter(({ key }) => key !== 'first-2')),
  ],
  [
    'held twice',
    'a task that another owner took while it was held',
    (h) => {
      const claim = changesOf(h, 'plain', states.active)[0]!
      h.changes.splice(h.changes.indexOf(claim) + 1, 0, { ...claim, attempt: 2, owner: 'another' })
    },
  ],
  [
    'held twice',
    'an attempt that is not greater',
    (h) => {
      const claim = changesOf(h, 'plain', states.active)[0]!
      h.changes.splice(h.changes.indexOf(claim) + 1, 0, { ...claim, state: states.ready }, { ...claim })
    },
  ],
  [
    'held beside',
    'two tasks of one identifier at a time',
    (h) => {
      const [first, second] = changesOf(h, 'keyed', states.active)
      h.changes.splice(h.changes.indexOf(second!), 1)
      h.changes.splice(h.changes.indexOf(first!) + 1, 0, second!)
    },
  ],
  [
    'limits',
    'more tasks than the limit',
    (h) => {
      const [first, second] = changesOf(h, 'limited', states.active)
      h.changes.splice(h.changes.indexOf(second!), 1)
      h.changes.splice(h.changes.indexOf(first!) + 1, 0, second!)
    },
  ],
  [
    'order',
    'a later task of an identifier that was done first',
    (h) => {
      const [first, , third] = ['keyed-0', 'keyed-1', 'keyed-2'].map((key) =>
        h.changes.filter((change) => change.key === key && !change.isNew),
      )
      const from = h.changes.indexOf(first![0]!)
      h.changes = h.changes.filter((change) => !third!.includes(change))
      h.changes.splice(from, 0, ...third!)
    },
  ],
  [
    'lines',
    'a push that got a lesser sequence than the one before',
    (h) => {
      const [first, second] = h.events.filter((event) => event.verb === 'push' && event.phase === 'done') as unknown as {
        sequences: number[]
      }[]
      ;[first!.sequences, second!.sequences] = [second!.sequences, first!.sequences]
    },
  ],
  [
    'needs',
    'a task that was taken before another that it needs',
    (h) =>
      void ((
        h.events.find((event) => event.verb === 'push' && event.phase === 'begun') as unknown as { needs?: string[] }
      ).needs = ['plain-7']),
  ],
  [
    'passed over',
    'a task that waited while later ones were taken',
    (h) => void (changesOf(h, 'plain', states.active)[0]!.began += 20_000),
  ],
  [
    'passed over',
    'a task that waited while less urgent ones were taken',
    (h) => {
      for (const change of h.changes) if (change.key === 'by priority-5') change.priority = 2
      changesOf(h, 'by priority', states.active)[5]!.began += 20_000
    },
  ],
  [
    'taken over',
    'a task that a dead node still holds',
    (h) => {
      const last = changesOf(h, 'plain', states.succeeded).find(({ owner }) => owner === 'owner of node 2')!
      last.at += 60_000
    },
  ],
  [
    'truthful',
    'a stop that does not name what is held',
    (h) => {
      const last = changesOf(h, 'plain', states.succeeded).find(({ owner }) => owner === 'owner of node 1')!
      last.at += 60_000
    },
  ],
  [
    'truthful',
    'a stop that calls finished what is not',
    (h) => {
      const stop = h.events.find((event) => event.verb === 'stop') as unknown as {
        finished: { topic: string; sequence: number; attempt: number }[]
      }
      stop.finished = [{ topic: 'plain', sequence: 1, attempt: 7 }]
    },
  ],
  [
    'truthful',
    'a stop that names a task twice',
    (h) => {
      const stop = h.events.find((event) => event.verb === 'stop') as unknown as { finished: object[]; returned: object[] }
      stop.returned = stop.finished
    },
  ],
  [
    'endings',
    'a process that ended by itself',
    (h) => void ((h.events.find((event) => event.verb === 'end') as { asked: boolean }).asked = false),
  ],
  ['terms', 'two leaders of a term', (h) => void (h.led[1]!.actor = 'another')],
  ['terms', 'a commit of an earlier term', (h) => void h.led.push({ ...h.led[0]! })],
  [
    'occurrences',
    'an occurrence that is missing',
    (h) => void (h.changes = h.changes.filter(({ externalId }) => !externalId?.includes('04.000'))),
  ],
  [
    'occurrences',
    'an occurrence that came twice',
    (h) => void h.changes.push({ ...h.changes.find(({ externalId }) => externalId)!, sequence: 999 }),
  ],
  [
    'occurrences',
    'an instant that is no occurrence',
    (h) => {
      const tick = h.changes.find(({ externalId }) => externalId)!
      h.changes.push({ ...tick, sequence: 999, externalId: tick.externalId!.replace('02.000', '03.000') })
    },
  ],
  ...(['connections', 'owners', 'holdings', 'slots', 'turns', 'lanes', 'processes', 'unfinished'] as const).map(
    (what: keyof Left): [string, string, (history: Story) => void] => [
      'left',
      `${what} that are left`,
      (h) => void (h.left = { ...h.left, [what]: 1 }),
    ],
  ),
  ...(Object.entries({ heapBytes: 6e6, residentBytes: 30e6, handles: 4, files: 4 }) as [Measure, number][]).map(
    ([measure, each]): [string, string, (history: Story) => void] => [
      'grows',
      `${measure} that grow from one quiet point to the next`,
      (h) => {
        let point = 0
        for (const event of h.events)
          if (event.verb === 'sample' && event.actor === 'node 2')
            Object.assign(event, { [measure]: event[measure] + each * point++ })
      },
    ],
  ),
]

describe('a history', () => {
  test('without a violation passes', () => {
    expect(check(story())).toEqual([])
  })

  test.each(plants)('is found to break the rule "%s" by %s', (rule, _, plant) => {
    const history = story()
    plant(history)
    expect(new Set(check(history).map((found) => found.rule))).toContain(rule)
  })

  const isFound = (rule: string, undoes: 'commits' | 'numbers', isUnderWay: boolean): boolean => {
    const history = story()
    plants.find((each) => each[0] === rule)![2](history)
    const over = { actor: 'laboratory', verb: 'fault', call: 0, kind: 'put back', undoes, at: history.events.at(-1)!.at } as const
    const at = isUnderWay ? history.events.find(({ verb }) => verb === 'push')!.at : over.at
    history.events.push({ ...over, at, phase: 'begun' }, { ...over, phase: 'done' })
    return check(history).some((found) => found.rule === rule)
  }
  test.each([
    ['lost', 'commits'],
    ['truthful', 'commits'],
    ['lines', 'numbers'],
  ] as const)('may break the rule "%s" while a fault undoes %s, and at no other time', (rule, undoes) => {
    expect([isFound(rule, undoes, true), isFound(rule, undoes, false)]).toEqual([false, true])
    expect(isFound(rule, undoes === 'commits' ? 'numbers' : 'commits', true)).toBe(rule !== 'lines')
  })

  test.each([
    [true, 'it did not ask', [0], 10],
    [true, 'its polls were answered', [], 3_000],
    [false, 'it asked until its time was up', [0], 3_000],
    [false, 'it could not ask', [0, 12], 10],
  ] as const)(
    'has a violation (%s) by a stop that does not name what an unanswered poll took, if %s',
    (is, _, unsure, stopMs) => {
      const history = story()
      const stop = history.events.find(({ verb }) => verb === 'stop')!
      changesOf(history, 'plain', states.succeeded).find(({ owner }) => owner === 'owner of node 1')!.at += 60_000
      history.events.unshift({ at: stop.at - stopMs, actor: 'node 1', verb: 'stop', phase: 'begun' })
      for (const at of unsure)
        history.events.push({ at: stop.at - 12 + at, actor: 'node 1', verb: 'unsure', topic: 'plain', why: 'lost' })
      expect(check(history).some(({ rule }) => rule === 'truthful')).toBe(is)
    },
  )

  test('has a planted violation for each rule', () => {
    expect([...new Set(plants.map(([rule]) => rule))].toSorted()).toEqual(Object.keys(rules).toSorted())
  })

  test('that fails is reduced to what shows the violation, and drawn', () => {
    const history = story()
    const second = history.changes.find(({ key, state }) => key === 'keyed-1' && state === states.active)!
    history.changes.splice(history.changes.indexOf(second), 1)
    history.changes.splice(
      history.changes.findIndex(({ key, state }) => key === 'keyed-0' && state === states.active) + 1,
      0,
      second,
    )
    const found = check(history).find(({ rule }) => rule === 'held beside')!
    const part = shrink(history, found)
    expect(part.changes.length).toBeLessThan(5)
    expect(part.events.length).toBe(0)
    expect(check(part)).toContainEqual(found)
    const lines = timelineText(part).split('\n')
    expect(lines).toHaveLength(momentsOf(part).length)
    expect(lines[0]).toMatch(/0\.0 ms .*keyed 9 \(i, keyed-0\) is active, attempt 1/)
    expect(timelineSvg(part)).toMatch(/^<svg [\s\S]*keyed-0[\s\S]*<\/svg>$/)
  })

  test('is read from files as it was written, but for half a line of a process that was killed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'taskstream-history-'))
    const history = story()
    writeHistory(folder, history)
    writeFileSync(join(folder, 'killed.events.jsonl'), '{"at":1,"actor":"killed","verb":"sta')
    expect(check(readHistory(folder))).toEqual([])
    // JSON has no undefined values.
    expect(readHistory(folder)).toEqual(JSON.parse(JSON.stringify(history)))
    rmSync(folder, { recursive: true })
  })
})
