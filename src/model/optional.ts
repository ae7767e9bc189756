/** All fields may be absent, or undefined: for options, which an app with `exactOptionalPropertyTypes` passes on as it has them. */
export type Optional<T> = { readonly [K in keyof T]?: T[K] | undefined }
