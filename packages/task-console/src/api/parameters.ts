/** Parameters that several routes have. */
import { filterStates, taskLimits, taskReasons } from '@taskstream/task-api'
import type { FilterState, TaskReason } from '@taskstream/task-api'
import * as z from 'zod'

export const noParameters: z.ZodObject<Record<never, never>> = z.strictObject({})

export const topicParameter: z.ZodString = z
  .string()
  .min(1)
  .max(taskLimits.topicLength)
  .describe('The name of the topic. A name that begins with a dot or a ~ has a ~ before it in a path.')
export const refParameter: z.ZodString = z
  .string()
  .min(1)
  .max(600)
  .describe('The task: 4711 or @4711 (sequence), ext:abc (external id), id:inv-7 (identifier, in keyed topics).')
export const topicFilter: z.ZodOptional<z.ZodString> = topicParameter.optional()
export const withinMs: z.ZodOptional<z.ZodCoercedNumber> = z.coerce
  .number()
  .int()
  .min(0)
  .max(taskLimits.durationMs)
  .optional()
  .describe('Only the last so many milliseconds.')

/** How many, with what is taken if nothing is said. */
export function size(most: number, usual: number): z.ZodDefault<z.ZodCoercedNumber> {
  return z.coerce.number().int().min(1).max(most).default(usual).describe(`How many at most, 1 to ${most}.`)
}

export const sequenceParameter: z.ZodOptional<z.ZodCoercedNumber> = z.coerce
  .number()
  .int()
  .min(0)
  .max(Number.MAX_SAFE_INTEGER)
  .optional()

export const stateFilter: z.ZodOptional<z.ZodArray<z.ZodEnum<{ [State in FilterState]: State }>>> = z
  .array(z.enum(Object.fromEntries(filterStates.map((state) => [state, state])) as { [State in FilterState]: State }))
  .optional()
export const reasonFilter: z.ZodOptional<z.ZodEnum<{ [Reason in TaskReason]: Reason }>> = z
  .enum(Object.fromEntries(taskReasons.map((reason) => [reason, reason])) as { [Reason in TaskReason]: Reason })
  .optional()
export const textFilter: z.ZodOptional<z.ZodString> = z.string().max(taskLimits.identifierLength).optional()
