/** Decides whether a history keeps every promise. */
import { grows } from './grows.ts'
import type { History, Violation } from './history.ts'
import { heldBeside, heldTwice, limits, lines, needs, order, passedOver } from './holds.ts'
import { Index } from './index.ts'
import { endings, left, occurrences, takenOver, terms, truthful } from './nodes.ts'
import { effects, invented, lost, pipelines, twice, ways } from './tasks.ts'

export const rules: Readonly<Record<string, (index: Index) => Violation[]>> = {
  lost,
  invented,
  twice,
  effects,
  ways,
  pipelines,
  'held twice': heldTwice,
  'held beside': heldBeside,
  limits,
  order,
  lines,
  needs,
  'passed over': passedOver,
  'taken over': takenOver,
  truthful,
  endings,
  terms,
  occurrences,
  left,
  grows,
}

export function check(history: History): Violation[] {
  const index = new Index(history)
  return Object.values(rules).flatMap((rule) => rule(index))
}
