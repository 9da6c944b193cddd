/** Draws random scenarios, to find orders of steps that nobody has thought of. */
import type { Scenario, Step } from './scenario.ts'

/** @param random numbers from 0 to below 1 */
export function drawScenario(number: number, random: () => number): Scenario {
  const among = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)]!
  const small = (): number => 1 + Math.floor(random() * 3)
  const verb = (): Step =>
    among([`push ${small()}`, `poll ${small()}`, `poll ${small()}`, 'complete', 'hand back', 'wait'] as Step[])
  // Tasks that are taken for a transaction are completed at its end, because a completion that a savepoint undid cannot be
  // repeated.
  const transaction = (): Step[] => {
    const inside = (): Step[] => [
      among([`push ${small()}`, `poll ${small()}`, `take ${small()}`, `take ${small()}`, 'wait'] as Step[]),
    ]
    const savepoint = (): Step[] => ['savepoint', ...inside(), among(['release savepoint', 'rollback to savepoint'])]
    const steps = [...inside(), ...(random() < 0.4 ? savepoint() : []), ...(random() < 0.4 ? inside() : [])]
    return ['begin', ...steps, ...(random() < 0.4 ? (['rollback'] as const) : (['complete', 'commit'] as const))]
  }
  const script = (dies: boolean): Step[] => {
    const steps = Array.from({ length: 1 + small() }, () => (random() < 0.5 ? transaction() : [verb()])).flat()
    return dies ? [...steps, 'die'] : [...steps, ...(random() < 0.3 ? (['expire'] as const) : [])]
  }
  const shared = random() < 0.3
  return {
    name: `drawn ${number}`,
    order: random() < 0.3 ? 'lifo' : 'fifo',
    ...(random() < 0.7 && { beforeBorder: Math.floor(random() * 5) }),
    prelude: Array.from({ length: Math.floor(random() * 5) }, () => ['B', verb()] as const),
    connections: {
      A: { owner: shared ? 'b' : 'a', steps: script(!shared && random() < 0.5) },
      B: { owner: 'b', steps: script(false) },
      C: { owner: 'c', steps: script(random() < 0.3) },
    },
  }
}
