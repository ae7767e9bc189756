import { type AddressInfo, createServer, type Socket } from 'node:net'

/** A port on loopback that can be closed and reopened with the same number. */
export interface Front {
  readonly port: number
  /** Stops listening and resets every open connection; new connections are refused. */
  close(): void
  /** Listens again on the same port; does nothing while it listens. */
  reopen(): Promise<void>
  /** Resets every open connection; new ones are accepted. */
  breakConnections(): void
}

export const openFront = async (onConnection: (socket: Socket) => void): Promise<Front> => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    onConnection(socket)
  })
  const listen = (port: number): Promise<number> =>
    new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen({ port, host: '127.0.0.1', backlog: 1_024 }, () => {
        server.off('error', reject)
        resolve((server.address() as AddressInfo).port)
      })
    })
  const breakConnections = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  const port = await listen(0)
  return {
    port,
    close: () => {
      server.close()
      breakConnections()
    },
    reopen: async () => {
      if (!server.listening) await listen(port)
    },
    breakConnections,
  }
}
