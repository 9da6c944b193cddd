/** Runs the public conformance suite, which anybody can run on an engine, on this engine. */
import { conformance } from '@taskstream/task-testing/suite'
import { test } from 'vitest'
import { canRun, engine } from '../subject.ts'

if (canRun) conformance(engine)
else test.skip(`${engine.name} cannot run here`)
