/** The source that test/unit/mutants.test.ts changes. */

export function atMost(value: number, most: number): number {
  if (value > most) return most
  return value
}

export function stepsTo(target: number): number {
  let steps = 0
  while (steps < target) steps += 1
  return steps
}

export const unit = 'steps'

let written: string | undefined

/** The first call writes the label, and later calls return it. */
export function label(): string {
  written ??= 'label'
  return written
}

export function neverCalled(): string {
  return unit.slice(0, 1)
}
