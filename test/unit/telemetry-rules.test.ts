/** Alert rules and the dashboard say what this release measures, and go by the thresholds of the doctor. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { alertNames as levelNames, alerts, failuresWithinMs, newErrorMs } from '@taskstream/task-operations'
import { alertNames, alertRules, dashboard } from '@taskstream/task-telemetry/grafana'
import { describe, expect, test } from 'vitest'
import { allMetrics, prometheusLabel, prometheusName } from '../../packages/task-telemetry/src/metrics/definitions.ts'
import { spans } from '../../packages/task-telemetry/src/metrics/fleet.ts'
import { hasPromtool, promtool, withoutPromtool } from '../promtool.ts'
import { files, folder } from '../telemetry/files.ts'

interface Panel {
  readonly id: number
  readonly type: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly expr: string; readonly refId: string }[]
}

const panels = dashboard(alerts)['panels'] as readonly Panel[]
const expressionsOf = (rules: string): string[] =>
  [...rules.matchAll(/^ +expr: (".*")$/gm)].map(([, text]) => JSON.parse(text!) as string)

/** The metrics of an expression: names that are no labels. */
function metricsOf(expression: string): string[] {
  const labels = new Set(allMetrics.flatMap((definition) => definition.labels.map(prometheusLabel)))
  const names = expression.match(/\b(?:taskstream|messaging)_\w+/g) ?? []
  return names.filter((name) => !labels.has(name)).map((name) => name.replace(/_(?:bucket|sum|count)$/, ''))
}

describe('what is shipped', () => {
  test('is what the thresholds make of it: npm run telemetry:files writes it', () => {
    for (const [name, text] of Object.entries(files)) expect(readFileSync(join(folder, name), 'utf8')).toBe(text)
  })

  test('has a rule for each alert whose level is known, and no other', () => {
    expect(alertNames.toSorted()).toEqual(levelNames.toSorted())
  })

  test('asks only for metrics that are exported', () => {
    const exported = new Set(allMetrics.map(prometheusName))
    const asked = [...expressionsOf(alertRules(alerts)), ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))]
    expect(asked.length).toBeGreaterThan(30)
    for (const expression of asked) for (const name of metricsOf(expression)) expect(exported).toContain(name)
  })

  test('never sums facts of the database over processes', () => {
    for (const expression of expressionsOf(alertRules(alerts)))
      expect(expression).not.toMatch(/sum[^(]*\((?:taskstream_topic|taskstream_timer)/)
  })

  test('goes by a level that somebody gives instead', () => {
    const rules = alertRules({ ...alerts, BacklogAge: { ...alerts.BacklogAge, level: 60_000 } }, { docs: 'https://example.org/' })
    expect(rules).toContain('(taskstream_topic_oldest_ready_seconds) > 60 ')
    expect(rules).toContain(`runbook_url: "https://example.org/${alerts.BacklogAge.page}"`)
  })

  test('counts over the spans of attention', () => {
    expect(spans).toEqual({ failuresWithinMs, newErrorMs })
  })

  test('tells pages that are there', () => {
    for (const { page } of Object.values(alerts)) readFileSync(join(import.meta.dirname, '..', '..', 'docs', page))
  })
})

describe('the dashboard', () => {
  test('has panels that do not overlap, each with a number and queries of its own', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const taken = new Set<string>()
    for (const {
      gridPos: { x, y, w, h },
    } of panels) {
      expect(x + w).toBeLessThanOrEqual(24)
      for (let column = x; column < x + w; column++)
        for (let row = y; row < y + h; row++) {
          expect(taken).not.toContain(`${column} ${row}`)
          taken.add(`${column} ${row}`)
        }
    }
    for (const { type, targets } of panels) if (type !== 'row') expect(targets?.length).toBeGreaterThan(0)
  })
})

describe.skipIf(withoutPromtool)('promtool', () => {
  test('finds no fault in the rules, nor in the expressions of the dashboard', () => {
    expect(hasPromtool).toBe(true)
    expect(promtool(['check', 'rules', join(folder, 'rules.yml')])).toContain(`SUCCESS: ${alertNames.length} rules found`)
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m')))
    const rules = expressions.map((expr, index) => ({ record: `panel_${index}`, expr }))
    const checked = inFile({ groups: [{ name: 'panels', rules }] }, (file) => promtool(['check', 'rules', file]))
    expect(checked).toContain(`SUCCESS: ${rules.length} rules found`)
  })

  test('raises each alert where it should be raised, and no other', () => {
    const of = (labels: string): string => `{messaging_destination_name="a"${labels}}`
    const series: [string, string][] = [
      [`taskstream_topic_tasks${of(',taskstream_task_state="ready"')}`, '5x200'],
      [`taskstream_topic_nodes${of('')}`, '0x200'],
      [`taskstream_topic_oldest_ready_seconds${of('')}`, '600x200'],
      [`taskstream_topic_new_errors${of('')}`, '1x200'],
      [`taskstream_task_attempts_total${of(',taskstream_task_outcome="success"')}`, '0+100x60 6000x140'],
      [`taskstream_task_attempts_total${of(',taskstream_task_outcome="failure"')}`, '0+50x60 3000x140'],
      [`taskstream_task_attempts_total${of(',taskstream_task_outcome="retry"')}`, '0+300x60 18000x140'],
      ['taskstream_node_lease_lost_total{instance="i"}', '0x50 1x150'],
      [`taskstream_node_stuck_total${of('')}`, '0x50 1x150'],
      [`taskstream_topic_paused_seconds{messaging_destination_name="b"}`, '90000x200'],
      ['taskstream_timer_overdue_seconds', '120x200'],
      ['taskstream_fleet_up', '0x200'],
    ]
    const raised = (name: string, at: string): unknown => ({
      eval_time: at,
      alertname: `Taskstream${name}`,
      exp_alerts: [expect_(name)],
    })
    const expect_ = (name: string): unknown => {
      const level = alerts[name as keyof typeof alerts]
      const topic = name === 'PausedLong' ? 'b' : ['LeaseLost', 'TimerOverdue', 'NotScraped'].includes(name) ? undefined : 'a'
      return {
        exp_labels: {
          severity: level.severity === 'crit' ? 'critical' : 'warning',
          ...(topic && { messaging_destination_name: topic }),
          ...(name === 'LeaseLost' && { instance: 'i' }),
        },
        exp_annotations: { summary: `${topic ? `${topic}: ` : ''}${level.says}`, page: level.page },
      }
    }
    const at = (name: string): string => (name === 'ThroughputCollapse' ? '75m' : '55m')
    const quiet = alertNames.map((alertname) => ({ eval_time: '55m', alertname: `Taskstream${alertname}`, exp_alerts: [] }))
    const well: [string, string][] = series.map(([name]) => [
      name,
      name.includes('nodes') ? '2x200' : name.includes('fleet_up') ? '1x200' : name.includes('"success"') ? '0+100x200' : '0x200',
    ])
    const tests = [
      { interval: '1m', input_series: inputs(series), alert_rule_test: alertNames.map((name) => raised(name, at(name))) },
      { interval: '1m', input_series: inputs(well), alert_rule_test: quiet },
    ]
    const file = { rule_files: [join(folder, 'rules.yml')], evaluation_interval: '1m', tests }
    expect(inFile(file, (path) => promtool(['test', 'rules', path]))).toContain('SUCCESS')
  })
})

function inputs(series: readonly (readonly [string, string])[]): unknown[] {
  return series.map(([name, values]) => ({ series: name, values }))
}

/** JSON is YAML. */
function inFile(content: unknown, use: (path: string) => string): string {
  const directory = mkdtempSync(join(tmpdir(), 'rules-'))
  try {
    const path = join(directory, 'file.yml')
    writeFileSync(path, JSON.stringify(content))
    return use(path)
  } finally {
    rmSync(directory, { recursive: true })
  }
}
