export { dashboard } from './grafana/dashboard.ts'
export type { Dashboard } from './grafana/dashboard.ts'
export { alertNames, alertRules } from './grafana/rules.ts'
export type { AlertLevel, AlertLevels, AlertName, RuleOptions } from './grafana/rules.ts'
