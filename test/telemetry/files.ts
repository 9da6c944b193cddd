/** The dashboard and the alert rules that the package ships, made of the thresholds that the doctor and `attention` go by. */
import { join } from 'node:path'
import { alerts } from '@taskstream/task-operations'
import { alertRules, dashboard } from '@taskstream/task-telemetry/grafana'

export const folder: string = join(import.meta.dirname, '..', '..', 'packages', 'task-telemetry', 'grafana')

/** The text of each file. */
export const files: Readonly<Record<string, string>> = {
  'dashboard.json': `${JSON.stringify(dashboard(alerts), undefined, 2)}\n`,
  'rules.yml': alertRules(alerts),
}
