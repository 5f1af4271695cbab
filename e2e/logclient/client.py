"""Follows the log of a run as docs/reading-the-log.md says, with the standard library alone.

Each line of the input is a job (see follow), each line of the output what was held at its end."""

import base64
import hashlib
import http.client
import json
import os
import random
import socket
import struct
import sys
import time
from urllib.parse import urlencode, urlsplit

SILENCE = 45  # seconds


# Cut: the connection was lost. Gap: an earlier record is missing. Stale: the position does not
# match the log. Refused: a retry would not help.
Cut, Gap, Stale, Refused = (type(name, (Exception,), {}) for name in ("Cut", "Gap", "Stale", "Refused"))


class Block:
    def __init__(self, kind):
        self.kind, self.bytes, self.state, self.closed, self.withheld = kind, b"", "open", None, False

    def text(self, data):
        """The bytes of a chunk or a snapshot."""
        if data.get("content") == "worker":
            self.withheld = True
            return b"?" * data["length"]
        piece = data["data"]
        return (piece if isinstance(piece, str) else piece["delta"]).encode()

    def wrong(self):
        """Whether it is not what its end says."""
        if self.state not in ("done", "truncated") or self.withheld:
            return False
        return (len(self.bytes), hashlib.sha256(self.bytes).hexdigest()) != (self.closed["length"], self.closed["sha256"])


class Log:
    """What the client holds."""

    def __init__(self):
        self.cursor, self.ended, self.resets, self.taken = None, False, 0, 0
        self.forget(0)

    def forget(self, seq):
        self.events, self.blocks, self.newest = {}, {}, seq

    def take(self, name, cursor, data):
        self.taken += 1
        if name == "end":
            self.ended = True
            return
        if name == "reset":
            self.resets += 1
            self.forget(data["firstAvailable"] - 1)
        elif name == "snapshot":
            self.snapshot(data)
        elif name != "ping":
            (self.chunk if "offset" in data else self.event)(name, data)
        self.cursor = cursor

    def opens(self, data):
        seq = data["seq"]
        if seq <= self.newest:
            return False
        if data.get("prevShown", 0) > self.newest or seq != max(self.newest, data.get("prevSeq", 0)) + 1:
            raise Gap(f"after seq {self.newest} comes {data}")
        self.newest = seq
        return True

    def snapshot(self, data):
        self.opens(data)
        block = self.blocks.setdefault(data["seq"], Block(data["type"]))
        if block.state != "superseded":
            block.withheld = False
            block.bytes, block.kind = block.text(data), data["type"]

    def chunk(self, name, data):
        new, block = self.opens(data), self.blocks.get(data["seq"])
        if block is None:
            if not new:
                return
            block = self.blocks[data["seq"]] = Block(name)
        if block.state == "superseded":
            return
        known = len(block.bytes) - data["offset"]
        if known < 0:
            raise Gap(f"{len(block.bytes)} bytes are held, and there comes {data}")
        block.bytes += block.text(data)[known:]

    def event(self, name, data):
        if not self.opens(data):
            return
        self.events[data["seq"]] = name, {k: v for k, v in data.items() if k not in ("prevSeq", "prevShown")}
        if name == "block.closed" and data["blockSeq"] in self.blocks:
            block = self.blocks[data["blockSeq"]]
            block.state, block.closed = data["reason"], data
            if block.state == "superseded":
                block.bytes = b""

    def held(self):
        blocks = {seq: {"type": b.kind, "text": b.bytes.decode(), "state": b.state} for seq, b in self.blocks.items()}
        wrong = [seq for seq, b in self.blocks.items() if b.wrong()]
        return {"events": self.events, "blocks": blocks, "wrong": wrong, "resets": self.resets}


def check(status):
    """What an answer that is not the one hoped for means."""
    if 400 <= status < 500 and status != 429:
        raise Refused(f"status {status}")
    raise Cut(f"status {status}")


class Stream:
    """One connection of server-sent events."""

    def __init__(self, job):
        self.job, self.at = job, urlsplit(job["url"])
        self.conn = http.client.HTTPConnection(self.at.hostname, self.at.port, timeout=SILENCE)

    def close(self):
        self.conn.close()

    def follow(self, log):
        path, query = self.at.path + "/" + self.job["stream"], {}
        headers = {"Authorization": "Bearer " + self.job["key"], "Accept": "text/event-stream"}
        if self.job.get("types"):
            query["types"] = self.job["types"]
        if self.job["by"] == "seq" and log.newest:
            query["after_seq"] = log.newest
        elif self.job["by"] == "cursor" and log.cursor:
            headers["Last-Event-ID"] = log.cursor
        self.conn.request("GET", path + "?" + urlencode(query), headers=headers)
        answer = self.conn.getresponse()
        if answer.status == 204:
            log.ended = True
            return
        if answer.status != 200:
            check(answer.status)
        while not log.ended:
            event = self.event(answer)
            log.take(event["event"], event["id"], json.loads(event["data"]))

    def event(self, answer):
        fields = {}
        while True:
            line = answer.readline()
            if not line.endswith(b"\n"):
                raise Cut("the stream closed without end")
            line = line.rstrip(b"\r\n").decode()
            if not line:
                if "data" in fields:
                    return fields
                continue
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")


class Socket:
    """One connection of a WebSocket (RFC 6455)."""

    def __init__(self, job):
        self.job, at = job, urlsplit(job["url"])
        self.conn = socket.create_connection((at.hostname, at.port), timeout=SILENCE)
        self.input = self.conn.makefile("rb")
        try:
            self.shake(at)
        except BaseException:
            self.close()
            raise

    def close(self):
        self.input.close()
        self.conn.close()

    def shake(self, at):
        nonce = base64.b64encode(os.urandom(16)).decode()
        self.conn.sendall((
            f"GET {at.path}/ws HTTP/1.1\r\nHost: {at.netloc}\r\nAuthorization: Bearer {self.job['key']}\r\n"
            f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {nonce}\r\n\r\n"
        ).encode())
        status = self.line().split(" ")
        headers = {}
        while line := self.line():
            headers[line.partition(":")[0].lower()] = line.partition(":")[2].strip()
        if status[1] != "101":
            check(int(status[1]))
        accept = hashlib.sha1((nonce + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        if headers.get("sec-websocket-accept") != base64.b64encode(accept).decode():
            raise Refused("what answers is no WebSocket")

    def line(self):
        line = self.input.readline()
        if not line.endswith(b"\r\n"):
            raise Cut("the connection closed in the handshake")
        return line[:-2].decode()

    def read(self, n):
        data = self.input.read(n)
        if len(data) < n:
            raise Cut("the connection closed")
        return data

    def frame(self):
        """One frame: whether it is the last of its message, its opcode and its payload."""
        first, second = self.read(2)
        size = second & 127
        if size > 125:
            size = int.from_bytes(self.read(2 if size == 126 else 8), "big")
        return first & 128, first & 15, self.read(size)

    def write(self, opcode, payload):
        """Sends a frame, masked as those of clients are."""
        n, mask = len(payload), os.urandom(4)
        size = bytes([128 | n]) if n < 126 else struct.pack("!BH", 254, n)  # it sends nothing over 64 KiB
        self.conn.sendall(bytes([128 | opcode]) + size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload)))

    def receive(self):
        """The next message."""
        whole = b""
        while True:
            last, opcode, payload = self.frame()
            if opcode == 8:
                raise (Refused if payload[:2] == struct.pack("!H", 1008) else Cut)("the server closed the connection")
            if opcode == 9:
                self.write(10, payload)
            elif opcode < 3:
                whole += payload
                if last:
                    return json.loads(whole)

    def load(self, log):
        ask = {"limit": self.job["limit"]}
        if self.job["by"] == "cursor" and log.cursor:
            ask["cursor"] = log.cursor
        else:
            ask["after_seq"] = log.newest
        self.write(1, json.dumps({"type": "load_events", "data": ask}).encode())

    def follow(self, log):
        while not log.ended:
            message = self.receive()
            kind, data = message["type"], message["data"]
            if kind == "connected":
                self.load(log)
            elif kind == "events_loaded":
                if data["is_stale_client"]:
                    log.take("reset", None, data["reset"])
                    raise Stale(data["reset"]["reason"])
                for e in data["events"]:
                    log.take(e["event"], e["cursor"], e["data"])
                if data["has_more"]:
                    self.load(log)
            elif kind == "event":
                log.take(data["event"], data["cursor"], data["data"])
            elif kind == "error":
                raise Refused(f"{data['code']}: {data['message']}")


def follow(job):
    """Reads a log to its end, through any number of cuts.

    job: url (the execution's), key, transport (sse, websocket), by (cursor, seq), stream
    and types (of sse), limit (of websocket), pause (seconds; 1 unless given).
    """
    log, gaps, failures = Log(), [], 0
    while not log.ended:
        connection, taken = None, log.taken
        try:
            connection = (Stream if job["transport"] == "sse" else Socket)(job)
            connection.follow(log)
        except Stale:
            continue
        except Gap as gap:
            gaps.append(str(gap))
            if len(gaps) == 8:
                raise Refused("; ".join(gaps)) from gap
            log.take("reset", None, {"firstAvailable": 1})
        except (Cut, OSError, http.client.HTTPException):
            failures = 0 if log.taken > taken else failures
            time.sleep(min(30, 2**failures) * random.uniform(0.5, 1) * job.get("pause", 1))
            failures += 1
        finally:
            if connection:
                connection.close()
    return log.held() | {"gaps": gaps}


for request in sys.stdin:
    try:
        print(json.dumps(follow(json.loads(request))), flush=True)
    except Refused as refused:
        print(json.dumps({"refused": str(refused)}), flush=True)
