import { z } from 'zod'

/** A condition of a scan (interface document, endpoint 1) whose value is always the same. */
export const condition = <const Field extends string, const Value extends string>(field: Field, val: Value) =>
  z.strictObject({ field: z.literal(field), op: z.literal(''), val: z.literal(val) })

/** The condition that picks the exchange, by its code in upper case. */
export const onExchange = z.strictObject({
  field: z.literal('Exch'),
  op: z.literal(''),
  val: z.string().regex(/^[A-Z]+$/, 'must be an exchange code'),
})
