import { z } from 'zod'

/** The schema of a scan condition (interface document, endpoint 1) with a constant value. */
export const condition = <const Field extends string, const Value extends string>(field: Field, val: Value) =>
  z.strictObject({ field: z.literal(field), op: z.literal(''), val: z.literal(val) })

/** The schema of the condition that selects the exchange by its code. */
export const exchangeCondition = z.strictObject({
  field: z.literal('Exch'),
  op: z.literal(''),
  val: z.string().regex(/^[A-Z]+$/, 'must be an exchange code'),
})
