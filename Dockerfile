# Two images: the server alone, and a worker with the programs that its tools call.
#   docker build --target server -t perdure-server .
#   docker build --target worker -t perdure-worker .
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -tags grpcnotrace -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/perdure ./cmd/perdure \
    && mkdir -p /out/data

FROM scratch AS server
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/perdure /usr/local/bin/perdure
COPY --from=build --chown=10001:10001 /out/data /data
USER 10001:10001
ENV PERDURE_DATA=/data PATH=/usr/local/bin
VOLUME /data
EXPOSE 8080 9090
ENTRYPOINT ["/usr/local/bin/perdure"]
CMD ["server", "--addr", "0.0.0.0:8080", "--grpc-addr", "0.0.0.0:9090"]

FROM debian:bookworm-slim AS worker
RUN apt-get update \
    && apt-get install -y --no-install-recommends bash bubblewrap ca-certificates git \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 perdure && useradd --uid 10001 --gid 10001 --create-home perdure \
    && install -d -o perdure -g perdure /data /work /keys
COPY --from=build /out/perdure /usr/local/bin/perdure
USER 10001:10001
ENV PERDURE_DATA=/data PERDURE_WORKSPACE=/work
VOLUME /data /work /keys
WORKDIR /work
ENTRYPOINT ["/usr/local/bin/perdure"]
CMD ["worker"]
