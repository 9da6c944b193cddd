/** Rules by which Prometheus raises alerts. */
import { attempts, duration, fact, names, ready, topicLabel, unlessPaused } from './expressions.ts'

/** From where on an alert is raised. `@taskstream/task-operations` has these levels beside those of the doctor. */
export interface AlertLevel {
  readonly severity: 'warn' | 'crit'
  /** A value above this is bad, or one below it; of durations in milliseconds. */
  readonly level: number
  /** How long the value must be bad, in milliseconds. */
  readonly forMs: number
  /** Over which span the value is counted, in milliseconds. */
  readonly withinMs?: number
  /** How many attempts within the span are too few to judge. */
  readonly fewAttempts?: number
  /** What is wrong, in a sentence without its full stop. */
  readonly says: string
  /** The page that tells what to do. */
  readonly page: string
}

export const alertNames = [
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
] as const
export type AlertName = (typeof alertNames)[number]
export type AlertLevels = Readonly<Record<AlertName, AlertLevel>>

export interface RuleOptions {
  /** The address of the documentation, such as `https://wiki.example.org/taskstream/`. With it an alert has a `runbook_url`. Default: it has the name of the page alone. */
  readonly docs?: string
}

const minute = 60_000
/** The span of the pace that is compared with a longer one. */
const nowMs = 5 * minute

const seconds = (ms: number): number => ms / 1_000

const shareOf = (outcomes: string, { level, withinMs = nowMs, fewAttempts = 0 }: AlertLevel): string => {
  const span = duration(withinMs)
  return `${attempts(span, outcomes)} / ${attempts(span)} > ${level} and on (${topicLabel}) ${attempts(span)} > ${fewAttempts}`
}

const expressions: Readonly<Record<AlertName, (level: AlertLevel) => string>> = {
  // Where nothing is scraped, the other rules have nothing to look at and are silent.
  NotScraped: ({ level }) => `absent(${names.fleetUp} >= ${level})`,
  NobodyProcesses: ({ level }) => unlessPaused(`${ready()} > 0 and on (${topicLabel}) ${fact(names.nodes)} < ${level}`),
  BacklogAge: ({ level }) => unlessPaused(`${fact(names.oldestReady)} > ${seconds(level)}`),
  FailureRatio: (level) => shareOf('failure|retry', level),
  NewFailures: ({ level }) => `${fact(names.newErrors)} > ${level}`,
  RetryStorm: (level) => shareOf('retry', level),
  LeaseLost: ({ level, withinMs = nowMs }) => `increase(${names.leaseLost}[${duration(withinMs)}]) > ${level}`,
  Stuck: ({ level, withinMs = nowMs }) => `sum by (${topicLabel}) (increase(${names.stuck}[${duration(withinMs)}])) > ${level}`,
  PausedLong: ({ level }) => `${fact(names.paused)} > ${seconds(level)}`,
  TimerOverdue: ({ level }) => `max(${names.timerOverdue}) > ${seconds(level)}`,
  ThroughputCollapse: ({ level, withinMs = 12 * nowMs }) => {
    const before = `${attempts(duration(withinMs))} / ${withinMs / nowMs}`
    return unlessPaused(`${attempts(duration(nowMs))} < ${level} * (${before}) and on (${topicLabel}) ${ready()} > 0`)
  },
}

/**
 * A file of rules for Prometheus, in YAML.
 *
 * @example
 * writeFileSync('rules.yml', alertRules({ ...alerts, BacklogAge: { ...alerts.BacklogAge, level: 60_000 } }))
 */
export function alertRules(levels: AlertLevels, { docs }: RuleOptions = {}): string {
  const rules = alertNames.map((name) => {
    const { severity, forMs, says, page } = levels[name]
    const expression = expressions[name](levels[name])
    const where = expression.includes(`by (${topicLabel})`) ? `{{ $labels.${topicLabel} }}: ` : ''
    return [
      `      - alert: Taskstream${name}`,
      `        expr: ${JSON.stringify(expression)}`,
      ...(forMs > 0 ? [`        for: ${duration(forMs)}`] : []),
      '        labels:',
      `          severity: ${severity === 'crit' ? 'critical' : 'warning'}`,
      '        annotations:',
      `          summary: ${JSON.stringify(`${where}${says}`)}`,
      docs === undefined
        ? `          page: ${JSON.stringify(page)}`
        : `          runbook_url: ${JSON.stringify(`${docs}${page}`)}`,
    ].join('\n')
  })
  return ['groups:', '  - name: taskstream', '    rules:', ...rules, ''].join('\n')
}
