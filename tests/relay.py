"""relay.py: a unix socket in front of another, for tests that stand between a client and its engine."""
import socket
import threading


def pump(connection, source, target, outgoing):
    broken = False
    try:
        while not broken:
            data = connection.passes(source.recv(1 << 16), outgoing)
            broken = data is None
            if not data:
                break
            target.sendall(data)
    except OSError:
        pass
    for end, how in ((source, socket.SHUT_RD), (target, socket.SHUT_WR)):
        try:
            end.shutdown(socket.SHUT_RDWR if broken else how)
        except OSError:
            pass


def serve(client, upstream, connection):
    engine = socket.socket(socket.AF_UNIX)
    try:
        engine.connect(upstream)
        connection.client = client
        threads = [threading.Thread(target=pump, args=(connection, *a), daemon=True)
                   for a in ((client, engine, True), (engine, client, False))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except OSError:
        pass
    client.close()
    engine.close()


def relay(listener, upstream, make_connection):
    """For ever. What make_connection() gives has passes(data, outgoing): the bytes to pass on, b"" for an end of the
    stream that is passed on, None to break the connection off. It may answer by itself on its attribute client."""
    listener.listen(256)
    while True:
        client = listener.accept()[0]
        threading.Thread(target=serve, args=(client, upstream, make_connection()), daemon=True).start()
