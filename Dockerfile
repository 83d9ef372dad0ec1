# docker build -t libretto .
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unreleased
RUN make build VERSION="$VERSION"

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /src/bin/libretto /src/bin/libretto-worker /usr/bin/
# Where metacontroller's manifests look for it. Under that name it serves without a command.
COPY --from=build /src/bin/libretto /usr/bin/metacontroller
ENTRYPOINT ["/usr/bin/libretto"]
