interface Page {
  readonly document: { readonly documentElement: { readonly dataset: Readonly<Record<string, string | undefined>> } }
}

/** A command as it is typed where the server of this page was started. */
export const formatCommand = (args: string): string => {
  const { command = 'scripstream' } = (globalThis as unknown as Page).document.documentElement.dataset
  return `${command} ${args}`
}
