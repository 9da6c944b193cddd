/** `npm run availability`, as part of every run of the last tier: see ../availability/run.ts. It starts servers of its own, because it ends them. */
import { describe, expect, test } from 'vitest'
import { runAvailability } from '../availability/run.ts'
import { openGalera } from '../availability/setups/galera.ts'
import { openStandby } from '../availability/setups/standby.ts'
import { hasGalera } from '../databases/galera.ts'
import { canRun, isMysql, subjectName } from '../subject.ts'

const kinds = isMysql
  ? ['node in use killed']
  : ['primary killed, standby promoted', 'primary stands still, standby promoted', 'primary restarted']

describe.skipIf(!canRun || (isMysql && !hasGalera))(`a database whose server fails (${kinds.join('; ')})`, () => {
  test(
    'takes pushes again and has tasks done again by itself, and none is lost or completed twice',
    { timeout: 600_000 },
    async () => {
      await using setup = await (isMysql ? openGalera() : openStandby())
      const { faults, pushed, lost, twice, invented, wrong } = await runAvailability({
        setup,
        seconds: 0,
        kinds,
        statementTimeoutMs: 5_000,
        rate: 40,
      })
      console.log(
        `${subjectName}, ${setup.name}, ${pushed} tasks: ${faults.map(({ kind, pushGapMs }) => `${kind} ${pushGapMs} ms`).join(', ')}`,
      )
      expect(faults.map(({ kind }) => kind)).toEqual(kinds)
      expect({ lost, twice, invented, wrong }).toEqual({ lost: [], twice: [], invented: [], wrong: [] })
    },
  )
})
