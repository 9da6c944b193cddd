/** The suite that anybody's engine can be held against, on this one. */
import { conformance } from '@taskstream/task-testing/suite'
import { test } from 'vitest'
import { canRun, engine } from '../subject.ts'

if (canRun) conformance(engine)
else test.skip(`${engine.name} cannot run here`)
