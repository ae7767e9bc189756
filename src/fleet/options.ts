/** Options of the driver of a fleet. */
export interface FleetOptions {
  /** `redis://host:6379`, with `?prefix=` if several fleets share a server. */
  readonly address: string
  /** The folder that all machines of the fleet share. */
  readonly blobs: string
  /** The version of this program. Only workers of the same version process its items. */
  readonly version: string
  /** Accept a Redis server that does not persist its data. */
  readonly allowVolatile?: boolean
}
