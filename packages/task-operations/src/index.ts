export { examine, unreachable } from './doctor/examine.ts'
export type { ExamineOptions } from './doctor/examine.ts'
export type { Files } from './doctor/files.ts'
export { isAtLeast, severities, worstFirst } from './core/finding.ts'
export type { Facts, Finding, Severity } from './core/finding.ts'
export {
  alertNames,
  alerts,
  attentionThresholds,
  checkNames,
  failuresWithinMs,
  newErrorMs,
  thresholds,
} from './core/thresholds.ts'
export type { Alert, AlertName, CheckName, Threshold, Thresholds, Unit } from './core/thresholds.ts'
export { bundleOf } from './doctor/bundle.ts'
export type { Bundle } from './doctor/bundle.ts'
export { checksTable } from './doctor/checks-table.ts'
export { attention } from './inspection/attention.ts'
export type { LookOptions } from './inspection/attention.ts'
export { attentionIds } from './inspection/attention-ids.ts'
export type { Attention, AttentionId } from './inspection/attention-ids.ts'
export { changeKinds, changes } from './inspection/changes.ts'
export type { Change, ChangeKind } from './inspection/changes.ts'
export { commandOf } from './inspection/commands.ts'
export { sayWhy } from './inspection/say-why.ts'
export type { SaidWhy } from './inspection/say-why.ts'
export type { Operator } from './actions/operator.ts'
export type { ActionName, ActionRequest, Chosen } from './actions/request.ts'
export { preview } from './actions/preview.ts'
export type { ActionPreview } from './actions/preview.ts'
export { act } from './actions/act.ts'
export type { ActionCursor, ActOptions, Acted } from './actions/act.ts'
export { addTimer, createTopic, removeTimers } from './actions/definitions.ts'
export { switchNode } from './actions/nodes.ts'
export { repairTopic } from './actions/repair.ts'
export { destroyTopic, limitTopic, runTimer, switchTimers, switchTopic } from './actions/switches.ts'
export type { ChosenTimers, Switched } from './actions/switches.ts'
export { isUndoable, undo } from './actions/undo.ts'
export type { Undone, UndoOptions } from './actions/undo.ts'
export type { UndoneRecord } from './actions/undo-record.ts'
export { audit } from './actions/audit.ts'
export type { AuditEntry, AuditOptions } from './actions/audit.ts'
