import { type Host, hosts, type Settings } from '../../model/settings.js'
import { addBounds, type Bounds } from './bounds.js'
import type { Forecast } from './forecast.js'

/** All requests to a service. */
export interface HostForecast {
  readonly service: Host
  /** Its host name; undefined if no address is set. */
  readonly at: string | undefined
  readonly requests: Bounds
}

export const forecastHosts = ({ streams }: Pick<Forecast, 'streams'>, { urls }: Settings): readonly HostForecast[] => {
  const requests = new Map<Host, Bounds>()
  for (const { demand } of streams)
    for (const [{ host }, span] of demand.calls) requests.set(host, addBounds(requests.get(host) ?? { least: 0, most: 0 }, span))
  return hosts.flatMap((service): readonly HostForecast[] => {
    const [span, url] = [requests.get(service), urls[service]]
    return span === undefined ? [] : [{ service, at: url === undefined ? undefined : new URL(url).host, requests: span }]
  })
}
