/** Fences of the product that a run can take away, to see that the checker notices. */
import { mutants } from '../hammer/mutants.ts'
import type { Mutant } from '../hammer/mutants.ts'

export const fences: readonly Mutant[] = [
  ...mutants,
  {
    name: 'whoever completes need not hold',
    // \u0001 stands for a value.
    // eslint-disable-next-line no-control-regex
    from: /t\.owner = \u0001 and t\.attempt = /g,
    to: '(t.owner = \u0001 or 1 = 1) and t.attempt >= ',
    engines: ['postgres', 'sqlite', 'mariadb'],
  },
]
