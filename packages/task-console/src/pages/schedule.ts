/** When tasks are due, and how urgent they are, in the fields of a form. */
import { taskLimits } from '@taskstream/task-api'
import type { Rescheduling } from '@taskstream/task-api'
import { html } from 'hono/html'
import * as z from 'zod'
import type { Asked } from '../api/route.ts'
import { hiddenFields, mayAct } from './forms.ts'
import { nothing, time } from './parts.ts'
import type { Html } from './parts.ts'

const units = { s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const
const unitNames = ['s', 'min', 'h', 'd'] as const

/** The fields, as a form sends them. Empty ones are not sent on. */
export const scheduleShape: {
  readonly in: z.ZodOptional<z.ZodCoercedNumber>
  readonly unit: z.ZodOptional<z.ZodEnum<{ [Unit in keyof typeof units]: Unit }>>
  readonly due: z.ZodOptional<z.ZodISODateTime>
  readonly priority: z.ZodOptional<z.ZodCoercedNumber>
} = {
  in: z.coerce.number().min(0).max(1_000_000).optional(),
  unit: z.enum(unitNames).optional(),
  due: z.iso.datetime().optional(),
  priority: z.coerce.number().int().min(-taskLimits.priority).max(taskLimits.priority).optional(),
}
type Fields = z.output<z.ZodObject<typeof scheduleShape>>

/** @returns milliseconds; undefined if nothing is said */
export function delayOf({ in: amount, unit = 'min' }: Pick<Fields, 'in' | 'unit'>): number | undefined {
  return amount === undefined ? undefined : Math.round(amount * units[unit])
}

export function scheduleOf({ due, priority, ...delay }: Fields): Rescheduling {
  const delayMs = due === undefined ? delayOf(delay) : undefined
  return {
    ...(due !== undefined && { due: new Date(due) }),
    ...(delayMs !== undefined && { delayMs }),
    ...(priority !== undefined && { priority }),
  }
}

/** The same with the instant at which it ends instead of a delay, so that nothing else happens than what was shown. */
export function fixed(fields: Fields, asOf: Date): Fields {
  const delayMs = delayOf(fields)
  const due = delayMs === undefined ? fields.due : new Date(asOf.getTime() + delayMs).toISOString()
  return { due, priority: fields.priority }
}

export function scheduleWords({ in: amount, unit = 'min', due, priority }: Fields): Html {
  return html`${due === undefined ? (amount === undefined ? '' : `, due in ${amount} ${unit}`) : html`, due ${time(new Date(due))}`}${priority === undefined ? '' : html`, with the priority ${priority}`}`
}

export function scheduleFields(): Html {
  return html`<span class="pair"
      ><label>due in <input name="in" type="number" min="0" max="1000000" step="any" /></label>
      <select name="unit" aria-label="unit">
        ${unitNames.map((unit) => html`<option value="${unit}" ${unit === 'min' ? html` selected` : ''}>${unit}</option>`)}
      </select></span
    >
    <label>priority <input name="priority" type="number" min="${-taskLimits.priority}" max="${taskLimits.priority}" /></label>`
}

/** Leads to what a rescheduling would do. */
export function scheduleForm(
  asked: Asked,
  root: string,
  given: Readonly<Record<string, string | number | undefined>>,
  label: string,
): Html {
  if (!mayAct(asked)) return nothing
  return html`<details class="deed">
    <summary>${label}</summary>
    <form method="get" action="${root}act" data-deed="reschedule">
      ${hiddenFields({ ...given, deed: 'reschedule' })} ${scheduleFields()}<button>Reschedule…</button>
    </form>
  </details>`
}
