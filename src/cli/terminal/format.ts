/** `2,775`; without `Intl`, which takes 11 ms to load. */
export const formatCount = (value: number): string => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',')

export const formatQuantity = (value: number, noun: string): string => `${formatCount(value)} ${noun}${value === 1 ? '' : 's'}`

/** `3.1s`, `12s`, `3m05s`, `1h02m` */
export const formatDuration = (ms: number): string => {
  const tenths = Math.round(Math.max(0, ms) / 100)
  return tenths < 100 ? `${(tenths / 10).toFixed(1)}s` : formatClock(Math.round(Math.max(0, ms) / 1_000))
}

export const formatCountdown = (ms: number): string => formatClock(Math.ceil(Math.max(0, ms) / 1_000))

const formatClock = (seconds: number): string => {
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes}m${padTwo(seconds % 60)}s` : `${formatCount(Math.floor(minutes / 60))}h${padTwo(minutes % 60)}m`
}

export const padTwo = (value: number): string => String(value).padStart(2, '0')

/** `0.4/s`, `125/s`; empty if nothing is done or no time has passed. */
export const formatRate = (done: number, ms: number): string => {
  if (done <= 0 || ms <= 0) return ''
  const perSecond = (done * 1_000) / ms
  return `${perSecond < 9.95 ? perSecond.toFixed(1) : formatCount(perSecond)}/s`
}

const units = ['kB', 'MB', 'GB', 'TB'] as const

/** `512 B`, `1.2 kB`, `31 MB`, in steps of a thousand. */
export const formatBytes = (size: number): string => {
  if (size < 1_000) return `${size} B`
  const step = Math.min(units.length - 1, Math.floor(Math.log10(size) / 3) - 1)
  const value = size / 1_000 ** (step + 1)
  if (value >= 999.5 && step < units.length - 1) return `1.0 ${units[step + 1] ?? ''}`
  return `${value < 9.95 ? value.toFixed(1) : formatCount(value)} ${units[step] ?? ''}`
}
