/** The doctor, `attention` and the alerts of monitoring systems judge by the same thresholds. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { alertNames, alerts, attentionIds, checkNames, thresholds } from '@taskstream/task-operations'
import type { AlertName, CheckName } from '@taskstream/task-operations'
import { expect, test } from 'vitest'

const docs = join(import.meta.dirname, '..', '..', 'docs')

test('there are the eleven alerts, and none of them changes its name', () => {
  expect(alertNames).toEqual([
    'NotScraped',
    'NobodyProcesses',
    'BacklogAge',
    'FailureRatio',
    'NewFailures',
    'RetryStorm',
    'LeaseLost',
    'Stuck',
    'PausedLong',
    'TimerOverdue',
    'ThroughputCollapse',
  ])
})

test.each<[AlertName, CheckName, number]>([
  ['FailureRatio', 'failing', 0.05],
  ['PausedLong', 'paused', 86_400_000],
  ['TimerOverdue', 'timer-overdue', 60_000],
])('the alert %s has the level at which the check %s warns', (alert, check, level) => {
  expect(alerts[alert]).toMatchObject({ level, check, unit: thresholds[check].unit })
  expect(thresholds[check].warn).toBe(level)
})

test.each(Object.entries(alerts))('the alert %s tells what is wrong, what to do, and for how long', (_, alert) => {
  expect(existsSync(join(docs, alert.page))).toBe(true)
  expect(alert.says).not.toMatch(/^$|\.$/)
  expect(alert.forMs).toBeLessThanOrEqual(600_000)
  if (alert.check) expect(checkNames).toContain(alert.check)
})

test('what needs attention has one name each, and the words of the doctor where it checks the same', () => {
  expect(attentionIds.toSorted()).toEqual(
    [
      'nobody-processes node-failing failing-new failing backlog-age owner-silent overdue timer-overdue paused-long',
      'release-skew database schema input-newer active-long',
    ]
      .join(' ')
      .split(' ')
      .toSorted(),
  )
})
