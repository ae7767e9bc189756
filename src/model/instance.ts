/**
 * Makes `instanceof` true for an error of another copy of this package: the command is one bundled file, so a module of `--streams` that
 * imports the package gets classes of its own.
 */
export function isInstance(this: { readonly name: string; readonly prototype: object }, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Object.prototype.isPrototypeOf.call(this.prototype, value)) return true
  const { name, verdict, isTemporary } = value as { readonly [field: string]: unknown }
  const isOfAnotherCopy = typeof verdict === 'string' && typeof isTemporary === 'boolean'
  return isOfAnotherCopy && (this.name === 'CollectError' || this.name === name)
}
